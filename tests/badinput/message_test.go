package badinput

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// outcome is what becomes of a message.
type outcome string

const applied outcome = "applied"

// dead is a letter of a class.
func dead(class dlq.Class) outcome { return outcome(class) }

// input is a case: a message and its outcome.
type input struct {
	n        int // of the list
	name     string
	topic    string
	id       string // "" gives one of its own; see noID
	payload  []byte
	metadata map[string]string
	at       headrace.Coordinates
	want     outcome
	says     string // part of the letter's error
}

// noID is a message without one.
const noID = "\x00none"

// jsonKey is a key out of the payload.
func jsonKey(d *headrace.Delivery) (string, error) { return inbox.JSON("id")(d) }

// schemaCodec stands for protobuf, Avro and other codecs of users: it refuses bytes in
// errors of its own.
type schemaCodec struct{ codec.Codec }

func (s schemaCodec) Decode(payload []byte, into any) error {
	switch {
	case len(payload) < 5:
		return errors.New("proto: unexpected EOF")
	case payload[0] != 1:
		return fmt.Errorf("unknown schema id %d", payload[0])
	}
	return s.Codec.Decode(payload, into)
}

func gzipped(b []byte, cut int) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(b)
	_ = w.Close()
	return out.Bytes()[:out.Len()-cut]
}

// huge is 100 MiB, the same for all.
var huge = sync.OnceValue(func() []byte { return bytes.Repeat([]byte("a"), 100<<20) })

const undecodable = outcome(dlq.Undecodable)

func messages() []input {
	text := func(s string) []byte { return []byte(s) }
	gz := map[string]string{"Content-Encoding": "gzip"}
	return []input{
		{n: 1, name: "empty, any bytes", topic: raw, payload: []byte{}, want: applied},
		{n: 1, name: "empty, JSON", topic: inJSON, payload: []byte{}, want: undecodable},
		{n: 2, name: "nil, any bytes", topic: raw, want: applied},
		{n: 2, name: "nil, JSON", topic: inJSON, want: undecodable},
		{n: 2, name: "nil, refused", topic: refuse, want: dead(dlq.Permanent), says: errRefused.Error()},
		{n: 3, name: "a NUL byte, any bytes", topic: raw, payload: []byte{0}, want: applied},
		{n: 3, name: "a NUL byte, JSON", topic: inJSON, payload: []byte{0}, want: undecodable},
		{n: 3, name: "a NUL byte, refused", topic: refuse, payload: []byte{0}, want: dead(dlq.Permanent)},
		{n: 4, name: "no UTF-8, any bytes", topic: raw, payload: text("\xff"), want: applied},
		{n: 4, name: "no UTF-8, JSON", topic: inJSON, payload: text("\xff"), want: undecodable},
		{n: 4, name: "no UTF-8 in a JSON string", topic: inJSON, payload: text("{\"id\":\"\xff\"}"), want: applied}, // as encoding/json
		{n: 4, name: "no UTF-8, refused", topic: refuse, payload: text("a\xff\xfeb"), want: dead(dlq.Permanent)},
		{n: 5, name: "an escaped NUL", topic: inJSON, payload: text(`{"id":"a\u0000b"}`), want: applied},
		{n: 5, name: "an escaped NUL, refused", topic: refuse, payload: text(`{"id":"a\u0000b"}`), want: dead(dlq.Permanent)},
		{n: 5, name: "an escaped NUL as key", topic: byJSON, payload: text(`{"id":"a\u0000b"}`), want: undecodable, says: "NUL"},
		{n: 6, name: "a lone surrogate", topic: inJSON, payload: text(`{"id":"\ud800"}`), want: applied},
		{n: 6, name: "a lone surrogate as key", topic: byJSON, payload: text(`{"id":"\ud800"}`), want: undecodable},
		{n: 7, name: "a member twice", topic: inJSON, id: "twice", payload: text(`{"n":1,"n":2}`), want: applied},
		{n: 7, name: "the same said once", topic: inJSON, id: "twice", payload: text(`{"n":2}`), want: dead(dlq.Conflict)},
		{n: 8, name: "1e400", topic: inJSON, payload: text(`{"f":1e400}`), want: undecodable},
		{n: 8, name: "2^63", topic: inJSON, payload: text(`{"n":9223372036854775808}`), want: undecodable},
		{n: 8, name: "2^63-1", topic: inJSON, payload: text(`{"n":9223372036854775807}`), want: applied},
		{n: 8, name: "twenty digits", topic: inJSON, payload: text(`{"n":12345678901234567890}`), want: undecodable},
		{n: 8, name: "twenty digits as a float", topic: inJSON, payload: text(`{"f":12345678901234567890}`), want: applied},
		{n: 9, name: "100,000 deep, JSON", topic: inJSON, payload: bytes.Repeat(text("["), 100_000), want: undecodable},
		{n: 9, name: "100,000 deep and closed", topic: inJSON, payload: text(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), want: undecodable},
		{n: 9, name: "100,000 deep, any bytes", topic: raw, payload: bytes.Repeat(text("["), 100_000), want: applied},
		{n: 9, name: "100,000 deep as key", topic: byJSON, payload: bytes.Repeat(text(`{"id":`), 100_000), want: undecodable},
		{n: 10, name: "10 MiB", topic: raw, payload: bytes.Repeat(text("a"), 10<<20), want: applied},
		{n: 10, name: "10 MiB, refused", topic: refuse, payload: bytes.Repeat(text("\x00\xff"), 5<<20), want: dead(dlq.Permanent)},
		{n: 10, name: "100 MiB, above MaxInFlightBytes", topic: raw, payload: huge(), want: applied},
		{n: 11, name: "a gzip bomb is bytes", topic: raw, payload: gzipped(make([]byte, 10<<20), 0), metadata: gz, want: applied},
		{n: 11, name: "a gzip bomb is no JSON", topic: inJSON, payload: gzipped(make([]byte, 10<<20), 0), metadata: gz, want: undecodable},
		{n: 11, name: "truncated gzip", topic: inJSON, payload: gzipped(text(`{"n":1}`), 6), metadata: gz, want: undecodable},
		{n: 11, name: "JSON that says it is gzip", topic: inJSON, payload: text(`{"n":1}`), metadata: gz, want: applied},
		{n: 12, name: "JSON that says it is XML", topic: inJSON, payload: text(`{"n":12}`), metadata: map[string]string{"Content-Type": "text/xml"}, want: applied},
		{n: 12, name: "XML that says it is JSON", topic: inJSON, payload: text(`<a/>`), metadata: map[string]string{"Content-Type": "application/json"}, want: undecodable},
		{n: 12, name: "what says it is a CloudEvent", topic: inJSON, payload: text(`{"n":12}`), metadata: map[string]string{"Content-Type": "application/cloudevents+json"}, want: undecodable, says: "CloudEvent"},
		{n: 13, name: "truncated protobuf", topic: proto, payload: []byte{1, 2}, want: undecodable, says: "unexpected EOF"},
		{n: 13, name: "unknown schema", topic: proto, payload: []byte{9, 0, 0, 0, 0, 1}, want: undecodable, says: "unknown schema id 9"},
		{n: 14, name: "byte order mark", topic: inJSON, payload: text("\ufeff{\"n\":1}"), want: undecodable},
		{n: 15, name: "trailing garbage", topic: inJSON, payload: text(`{"n":1}x`), want: undecodable},
		{n: 15, name: "two documents", topic: inJSON, payload: text(`{"n":1}{"n":2}`), want: undecodable},
		{n: 16, name: "__proto__", topic: inJSON, payload: text(`{"__proto__":{"n":1}}`), want: applied},
		{n: 16, name: "markup and templates, refused", topic: refuse, payload: text(`<script>alert(1)</script>{{7*7}} javascript:x`), want: dead(dlq.Permanent)},
		{n: 17, name: "terminal escapes, refused", topic: refuse, payload: text("\x1b[2J\r\x1b]0;x\a"), metadata: map[string]string{"h": "\x1b[31m\r"}, want: dead(dlq.Permanent)},
	}
}

// Bad input 1 to 17, INVARIANTS 1, 2, 12 and 14.
//
//evidence:bytes
func TestMessages(t *testing.T) { onEachStore(t, func(b *bundle) { b.inputs(messages()) }) }

// inputs runs a consumer, gives it every input twice, and a healthy message at the end.
func (b *bundle) inputs(list []input) {
	c, err := consumer.New("test", b.st, b.config())
	if err != nil {
		b.Fatal(err)
	}
	handlers(c)
	stop := b.run(c)
	defer stop()
	for i, in := range append(list, input{name: "a healthy one", topic: inJSON, payload: []byte(`{"n":1}`), want: applied}) {
		b.Run(fmt.Sprintf("%d %s", in.n, in.name), func(t *testing.T) { b.input(t, i, in) })
	}
}

func (b *bundle) input(t *testing.T, i int, in input) {
	switch in.id {
	case "":
		in.id = fmt.Sprintf("case-%d", i)
	case noID:
		in.id = ""
	}
	deliver := func() {
		m := message.NewMessage(in.id, in.payload) // it must not be changed: see headrace.Delivery
		m.Metadata = in.metadata
		if in.at != (headrace.Coordinates{}) {
			m.SetContext(headrace.WithArrival(m.Context(), headrace.Arrival{Coordinates: in.at}))
		}
		b.send(t, in.topic, m)
	}
	before := b.state()
	deliver()
	want := before
	if in.want == applied {
		want.effects++
	} else {
		want.letters++
	}
	if got := b.state(); got != want {
		t.Fatalf("%+v, then %+v: want %s", before, got, in.want)
	}
	if in.want == applied {
		b.sameEffect(t, in)
	} else {
		l := b.newest()
		if l.Class != dlq.Class(in.want) || !strings.Contains(l.Error, in.says) {
			t.Errorf("a letter of class %s: %s; want %s", l.Class, l.Error, in.want)
		}
		sameLetter(t, l, in.payload, in.metadata)
	}
	deliver()
	if got := b.state(); got != want {
		t.Errorf("the second delivery left %+v, want %+v", got, want)
	}
}

// sameEffect checks that the handler was given the bytes that were sent, in its first
// attempt, whatever the headers said.
func (b *bundle) sameEffect(t *testing.T, in input) {
	t.Helper()
	var attempt, n int
	err := b.db.QueryRowContext(t.Context(), "SELECT max(attempt), count(*) FROM effects WHERE sum = $1", sumOf(in.payload)).Scan(&attempt, &n)
	if err != nil || n == 0 || attempt != 1 {
		t.Errorf("%d effects of these bytes, of attempt %d, %v", n, attempt, err)
	}
}
