package inbox_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// FuzzIdentify: whatever id, header and payload come, a message has a key and a
// fingerprint that every store takes, the same for every delivery.
func FuzzIdentify(f *testing.F) {
	for _, id := range []string{"", " ", "id", "\xff", "a\x00b", strings.Repeat("x", 513), "ä", "../%00'\"\n"} {
		f.Add(id, "ce-id", id, []byte(`{"specversion":"1.0","id":"`+id+`","source":"s"}`))
		f.Add(id, "Content-Type", "application/cloudevents+json", []byte(id))
	}
	keys := []inbox.KeyFunc{
		inbox.DefaultKey(), inbox.PayloadHash(), inbox.Join(inbox.Literal("a"), inbox.Header("h"), inbox.JSON("a.0.b")),
		inbox.First(inbox.Header("ce-id"), inbox.JSON("id"), inbox.MessageID()),
	}
	f.Fuzz(func(t *testing.T, id, header, value string, payload []byte) {
		m := message.NewMessage(id, bytes.Clone(payload))
		m.Metadata.Set(header, value)
		for i, key := range keys {
			for _, print := range []inbox.FingerprintFunc{inbox.Payload(), inbox.Fields("id", "a.b")} {
				first, second := inbox.Received(m, "s", "t"), inbox.Received(m, "s", "t")
				err := inbox.Identify(&first, key, print, nil)
				again := inbox.Identify(&second, key, print, nil)
				if (err == nil) != (again == nil) || first.Fingerprint != second.Fingerprint {
					t.Fatalf("key %d: %v %q, then %v %q", i, err, first.Fingerprint, again, second.Fingerprint)
				}
				if first.Key != second.Key {
					t.Fatalf("key %d: %q, then %q", i, first.Key, second.Key)
				}
				if err != nil && !errors.Is(err, inbox.ErrAbsent) && !errors.Is(err, inbox.ErrMalformed) {
					t.Fatalf("key %d: %v", i, err)
				}
				if err == nil && inbox.IsStandIn(first.Key) {
					t.Fatalf("key %d: %q is a stand-in", i, first.Key)
				}
				if n := len(first.Key); n == 0 || n > inbox.MaxKeyBytes || !utf8.ValidString(first.Key) || strings.ContainsRune(first.Key, 0) || strings.TrimSpace(first.Key) == "" {
					t.Fatalf("key %d: %q", i, first.Key)
				}
				if len(first.Fingerprint) != 32 {
					t.Fatalf("fingerprint %q", first.Fingerprint)
				}
			}
		}
		if !bytes.Equal(m.Payload, payload) {
			t.Fatal("the payload was changed")
		}
	})
}

// FuzzJoin: two lists of parts never make one key.
func FuzzJoin(f *testing.F) {
	f.Add("a:b", "c", "a", "b:c")
	f.Add(`a\`, `:b`, `a\:`, "b")
	f.Add("%", "%3A", "%25", ":")
	key := inbox.Join(inbox.Header("x"), inbox.Header("y"))
	f.Fuzz(func(t *testing.T, a, b, c, d string) {
		first, err := key(delivery(a, b))
		if err != nil {
			return
		}
		second, err := key(delivery(c, d))
		if err == nil && (first == second) != (a == c && b == d) {
			t.Fatalf("%q and %q: %q; %q and %q: %q", a, b, first, c, d, second)
		}
	})
}

// FuzzFields: how JSON is written does not count.
func FuzzFields(f *testing.F) {
	f.Add("a.b", []byte(`{"a":{"b":[1,2,{"c":null}]}}`))
	f.Add("0", []byte(`[1e5,"\ud800"]`))
	f.Add(`a\.b`, []byte(`{"a.b":"x","a":{"b":"y"}}`))
	f.Fuzz(func(t *testing.T, path string, payload []byte) {
		if strings.HasPrefix(path, ".") || strings.HasSuffix(path, ".") || strings.Contains(path, "..") || path == "" || !utf8.ValidString(path) || strings.ContainsRune(path, utf8.RuneError) {
			return // refused by a panic at the start of a program
		}
		for _, print := range []inbox.FingerprintFunc{inbox.Fields(path), inbox.Payload()} {
			d := delivery("", "")
			d.Payload = payload
			one, err := print(d)
			var wide bytes.Buffer
			if json.Indent(&wide, payload, " ", "\t") != nil || !utf8.Valid(payload) {
				continue
			}
			d.Payload = wide.Bytes()
			two, wideErr := print(d)
			if (err == nil) != (wideErr == nil) {
				t.Fatalf("%q: %v; with white space %v", payload, err, wideErr)
			}
			// What is told apart by its bytes: see Payload.
			asBytes := strings.ContainsAny(string(payload), `\:`) || strings.Count(string(payload), "[") > 100
			if one != two && !asBytes {
				t.Fatalf("%.200q: %s; with white space %s", payload, one, two)
			}
		}
	})
}

// delivery has the headers x and y.
func delivery(x, y string) *headrace.Delivery {
	return &headrace.Delivery{Metadata: map[string]string{"x": x, "y": y}}
}
