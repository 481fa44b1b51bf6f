package story

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/headrace/headrace/tests/endtoend/shopify"
)

func TestInputReads(t *testing.T) {
	for _, tc := range []struct {
		name, line string
		want       webhook
	}{
		{"whole", `{"id":"a1","key":"k","headers":{"X":"1"},"payload":{"b": 1.50}}`,
			webhook{ID: "a1", OrderKey: "k", Headers: map[string]string{"X": "1"}, Payload: []byte(`{"b": 1.50}`)}},
		{"payload as it is written", `{"payload": [ 1e400 , "\u0041", {"a":1,"a":2} ] }`,
			webhook{Payload: []byte(`[ 1e400 , "\u0041", {"a":1,"a":2} ]`)}},
		{"null is a payload", `{"id":"a","payload":null}`, webhook{ID: "a", Payload: []byte(`null`)}},
		{"other bytes", `{"id":"a","payload_base64":"/wAB"}`, webhook{ID: "a", Payload: []byte{0xff, 0, 1}}},
		{"no bytes", `{"id":"a","payload_base64":""}`, webhook{ID: "a", Payload: []byte{}}},
		{"numbers and null", `{"id":17,"key":null,"headers":null,"payload":1}`, webhook{ID: "17", Payload: []byte(`1`)}},
		{"headers of a gateway", `{"headers":{"A":["1","2"],"B":3,"C":null,"D":true,"E":{"f":1},"X-Line-Error":"x"},"payload":1}`,
			webhook{Headers: map[string]string{"A": "1, 2", "B": "3", "C": "", "D": "true", "E": `{"f":1}`}, Payload: []byte(`1`)}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := all(t, newInput(strings.NewReader(tc.line+"\n"), "f"))
			tc.want.At.Broker, tc.want.At.Topic, tc.want.At.Position = "file", "f", "line 1"
			if tc.want.Headers == nil {
				tc.want.Headers = map[string]string{}
			}
			if diff := cmp.Diff([]webhook{tc.want}, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// A broken line is a message too: its bytes, and a reason.
func TestInputKeepsBrokenLines(t *testing.T) {
	for _, tc := range []struct{ name, line, id, says string }{
		{"no JSON", `oops`, "", "broken JSON"},
		{"cut", `{"id":"a","payload":{"id":`, "", "broken JSON"},
		{"no object", `[1]`, "", "it is a JSON list"},
		{"no payload", `{"id":"a"}`, "a", "neither payload nor payload_base64"},
		{"an unknown member", `{"id":"a","header":{"X":"1"},"payload":1}`, "a", `it has a member "header": it may have id, key, headers, payload, payload_base64`},
		{"a member in another case", `{"id":"a","payload":1,"Payload":2}`, "a", `it has a member "Payload"`},
		{"two payloads", `{"id":"a","payload":1,"payload_base64":""}`, "a", "both payload and payload_base64"},
		{"base64 broken", `{"id":"a","payload_base64":"?"}`, "a", "is not base64"},
		{"base64 no string", `{"id":"a","payload_base64":1}`, "a", "is not a string"},
		{"id an object", `{"id":{},"payload":1}`, "", "its id is a JSON object"},
		{"headers a list", `{"id":"a","headers":[],"payload":1}`, "a", "its headers are no object"},
		{"an order without its envelope", paid, "450789469", "neither payload nor payload_base64"},
		{"not UTF-8", "\xff\xfe", "", "broken JSON"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := all(t, newInput(strings.NewReader("\n"+tc.line), "f"))
			if len(got) != 1 || string(got[0].Payload) != tc.line || got[0].ID != tc.id ||
				!strings.Contains(got[0].Headers[shopify.LineHeader], "line 2 of the input") ||
				!strings.Contains(got[0].Headers[shopify.LineHeader], tc.says) {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestInputLines(t *testing.T) {
	got := all(t, newInput(strings.NewReader("\ufeff{\"payload\":1}\r\n\r\n  \n{\"payload\":2}\n\n{\"payload\":3}"), "f"))
	var says []string
	for _, w := range got {
		says = append(says, string(w.Payload)+" "+w.At.Position)
	}
	if diff := cmp.Diff([]string{"1 line 1", "2 line 4", "3 line 6"}, says); diff != "" {
		t.Error(diff)
	}
}

// A line beyond the limit is cut and says so; the next one is not touched.
func TestInputCutsEndlessLines(t *testing.T) {
	for _, length := range []int{1<<20 - 1, 1 << 20, 1<<20 + 1, 3 << 20} {
		in := newInput(strings.NewReader(strings.Repeat("x", length)+"\r\n{\"payload\":2}\n"), "f")
		in.limit = 1 << 20
		got := all(t, in)
		if len(got) != 2 || string(got[1].Payload) != "2" {
			t.Fatalf("length %d: %d webhooks", length, len(got))
		}
		if len(got[0].Payload) != min(length, in.limit) {
			t.Errorf("length %d: kept %d bytes", length, len(got[0].Payload))
		}
		if cut := strings.Contains(got[0].Headers[shopify.LineHeader], "longer than 1 MiB"); cut != (length > in.limit) {
			t.Errorf("length %d: reason %q", length, got[0].Headers[shopify.LineHeader])
		}
	}
}

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

func TestInputReportsReadErrors(t *testing.T) {
	_, err := newInput(failing{}, "f").next(context.Background())
	if err == nil || errors.Is(err, io.EOF) || !strings.Contains(err.Error(), "disk gone") {
		t.Errorf("got %v", err)
	}
}

// Whatever the bytes of a payload, they come through as they are.
func TestInputIsByteExact(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Byte()).Draw(t, "payload")
		line := fmt.Sprintf(`{"payload_base64":%q}`, base64.StdEncoding.EncodeToString(want))
		w, err := newInput(strings.NewReader(line), "f").next(context.Background())
		if err != nil || !bytes.Equal(w.Payload, want) {
			t.Fatalf("got %q, %v, want %q", w.Payload, err, want)
		}
	})
}

// Whatever the bytes of a file, every line that is not blank becomes a webhook.
func FuzzInput(f *testing.F) {
	f.Add([]byte("{\"payload\":1}\nx\n\n{}"))
	f.Fuzz(func(t *testing.T, file []byte) {
		lines := 0
		for line := range bytes.SplitSeq(bytes.TrimPrefix(file, []byte("\ufeff")), []byte("\n")) {
			if len(bytes.TrimSpace(line)) > 0 {
				lines++
			}
		}
		got := all(t, newInput(bytes.NewReader(file), "f"))
		if len(got) != lines {
			t.Errorf("%d webhooks, want %d", len(got), lines)
		}
		for _, w := range got {
			var o shopify.Order
			_ = json.Unmarshal(w.Payload, &o)
			_, _ = shopify.InvoiceOf(o, w.Headers)
		}
	})
}
