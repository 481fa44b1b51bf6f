package inbox_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

func headers(pairs ...string) *headrace.Delivery {
	d := &headrace.Delivery{Metadata: map[string]string{}}
	for i := 0; i < len(pairs); i += 2 {
		d.Metadata[pairs[i]] = pairs[i+1]
	}
	return d
}

// INVARIANTS 3: 26.
func TestHeader(t *testing.T) {
	for name, c := range map[string]struct {
		d    *headrace.Delivery
		want string
	}{
		"exact":                   {headers("Key", "1"), "1"},
		"exact before others":     {headers("KEY", "0", "Key", "1", "key", "2"), "1"},
		"another case":            {headers("key", "2"), "2"},
		"first of several others": {headers("kEY", "3", "key", "2", "KEY", "1"), "1"},
		"white space stays":       {headers("Key", " 1 "), " 1 "},
		"emoji":                   {headers("Key", "🙂"), "🙂"},
		"colon":                   {headers("Key", "a:b"), "a:b"},
		"64 KiB beside it":        {headers("Other", strings.Repeat("x", 64<<10), "Key", "1"), "1"},
	} {
		t.Run(name, func(t *testing.T) {
			for range 20 { // map order must not matter
				if got := resolve(t, inbox.Header("Key"), c.d); got != c.want {
					t.Fatalf("got %q, want %q", got, c.want)
				}
			}
		})
	}
	for name, d := range map[string]*headrace.Delivery{
		"no headers":   {},
		"none":         headers("Keys", "1", "Ke", "1", "", "1"),
		"empty":        headers("Key", ""),
		"empty, exact": headers("Key", "", "key", "1"),
	} {
		t.Run(name, func(t *testing.T) { refused(t, inbox.Header("Key"), d, inbox.ErrAbsent) })
	}
	refused(t, inbox.Header("Key"), headers("Key", "secret\xff"), inbox.ErrMalformed)
	refused(t, inbox.Header("Key"), headers("Key", strings.Repeat("secret", 20<<10)), inbox.ErrMalformed)
}

func TestHeaderAmongTenThousand(t *testing.T) {
	d := headers("Key", "1")
	for i := range 10_000 {
		d.Metadata[fmt.Sprint("header", i)] = "x"
	}
	if got := resolve(t, inbox.Header("KEY"), d); got != "1" {
		t.Errorf("got %q", got)
	}
}

func TestMessageID(t *testing.T) {
	if got := resolve(t, inbox.MessageID(), &headrace.Delivery{ID: "a/b"}); got != "a/b" {
		t.Errorf("got %q", got)
	}
	refused(t, inbox.MessageID(), &headrace.Delivery{}, inbox.ErrAbsent)
	refused(t, inbox.MessageID(), &headrace.Delivery{ID: "   "}, inbox.ErrMalformed)
}

func TestPosition(t *testing.T) {
	at := func(c headrace.Coordinates) *headrace.Delivery { return &headrace.Delivery{Coordinates: c} }
	if got := resolve(t, inbox.Position(), at(headrace.Coordinates{Broker: "kafka", Topic: "orders", Partition: "0", Position: "0"})); got != "kafka:orders:0:0" {
		t.Errorf("got %q", got)
	}
	// INVARIANTS 3: 32. Parts that hold a separator do not run into each other.
	a := resolve(t, inbox.Position(), at(headrace.Coordinates{Broker: "b", Topic: "t:1", Position: "2"}))
	b := resolve(t, inbox.Position(), at(headrace.Coordinates{Broker: "b", Topic: "t", Partition: "1:", Position: "2"}))
	if a == b {
		t.Errorf("two positions give %q", a)
	}
	refused(t, inbox.Position(), &headrace.Delivery{}, inbox.ErrAbsent)
	// All messages of a topic would share this key.
	refused(t, inbox.Position(), at(headrace.Coordinates{Broker: "b", Topic: "t"}), inbox.ErrAbsent)
	refused(t, inbox.Position(), at(headrace.Coordinates{Topic: strings.Repeat("t", 600), Position: "1"}), inbox.ErrMalformed)
}

func TestPayloadHash(t *testing.T) {
	hash := func(payload string) string {
		return resolve(t, inbox.PayloadHash(), &headrace.Delivery{Payload: []byte(payload)})
	}
	if a, b := hash(`{"a":1,"b":2}`), hash(`{ "b": 2, "a": 1 }`); a != b || len(a) != 64 {
		t.Errorf("hashes %q and %q", a, b)
	}
	if hash("\x00") == hash("\x00\x00") {
		t.Error("different bytes have the same hash")
	}
	// INVARIANTS 3: 1, 2. Every tombstone would be a duplicate of the first.
	refused(t, inbox.PayloadHash(), &headrace.Delivery{}, inbox.ErrAbsent)
	refused(t, inbox.PayloadHash(), &headrace.Delivery{Payload: []byte{}}, inbox.ErrAbsent)
}

func TestDefaultKey(t *testing.T) {
	d := headers("ce-specversion", "1.0", "ce-source", "/s", "ce-id", "1")
	d.ID, d.Coordinates = "uuid", headrace.Coordinates{Broker: "sqs", Topic: "q", Position: "7"}
	for _, want := range []string{"/s:1", "uuid", "sqs:q::7"} {
		if got := resolve(t, inbox.DefaultKey(), d); got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		if d.Metadata != nil {
			d.Metadata = nil
		} else {
			d.ID = ""
		}
	}
	// TRAPS, adapters: an empty UUID makes every message look like a duplicate.
	refused(t, inbox.DefaultKey(), &headrace.Delivery{Topic: "t", Payload: []byte("{}")}, inbox.ErrAbsent)
}

func TestCloudEvents(t *testing.T) {
	structured := func(payload string, pairs ...string) *headrace.Delivery {
		d := headers(pairs...)
		d.Payload = []byte(payload)
		return d
	}
	const event = `{"specversion":"1.0","type":"t","source":"urn:shop","id":"A-1","data":{"id":"no"}}`
	for name, d := range map[string]*headrace.Delivery{
		"HTTP":             headers("ce-specversion", "1.0", "ce-source", "urn:shop", "ce-id", "A-1"),
		"HTTP, upper case": headers("Ce-Specversion", "1.0", "Ce-Source", "urn:shop", "Ce-Id", "A-1"),
		"Kafka":            headers("ce_specversion", "1.0", "ce_source", "urn:shop", "ce_id", "A-1"),
		"AMQP":             headers("cloudEvents:specversion", "1.0", "cloudEvents:source", "urn:shop", "cloudEvents:id", "A-1"),
		"AMQP, underscore": headers("cloudEvents_source", "urn:shop", "cloudEvents_id", "A-1"),
		"by content type":  structured(event, "content-type", "application/cloudevents+json; charset=utf-8"),
		"by specversion":   structured(event),
		"type only":        structured(`{"source":"urn:shop","id":"A-1"}`, "Content-Type", "Application/CloudEvents+JSON"),
	} {
		t.Run(name, func(t *testing.T) {
			if got := resolve(t, inbox.CloudEvents(), d); got != `urn\:shop:A-1` {
				t.Errorf("got %q", got)
			}
		})
	}
	for name, d := range map[string]*headrace.Delivery{
		"nothing":           {},
		"other headers":     headers("cell-id", "1", "c", "1", "", "x", "ce-", "x"),
		"an id alone":       headers("ce-id", "1"),
		"other JSON":        structured(`{"source":"s","id":"1"}`),
		"no JSON":           structured(`"specversion" secret`),
		"deeper inside":     structured(`{"event":{"specversion":"1.0","source":"s","id":"1"}}`),
		"batch":             structured(`[`+event+`]`, "content-type", "application/cloudevents-batch+json"),
		"batch, no headers": structured(`[` + event + `]`),
	} {
		t.Run(name, func(t *testing.T) {
			d.ID = "id"
			if got := resolve(t, inbox.First(inbox.CloudEvents(), inbox.MessageID()), d); got != "id" {
				t.Errorf("got %q", got)
			}
		})
	}
	for name, d := range map[string]*headrace.Delivery{
		"binary without id":      headers("ce-specversion", "1.0", "ce-source", "s"),
		"structured without id":  structured(`{"specversion":"1.0","source":"secret"}`),
		"structured, null":       structured(`{"specversion":"1.0","source":"s","id":null}`),
		"structured, object":     structured(`{"specversion":"1.0","source":"s","id":{"secret":1}}`),
		"says it is and is none": structured(`secret`, "content-type", "application/cloudevents+json"),
	} {
		t.Run(name, func(t *testing.T) {
			d.ID = "id"
			refused(t, inbox.First(inbox.CloudEvents(), inbox.MessageID()), d, inbox.ErrMalformed)
		})
	}
}
