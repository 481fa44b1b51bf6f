package storetest

import (
	"bytes"
	"fmt"
	"reflect"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/outbox"
)

const (
	consumer = "billing"
	handler  = "orders.paid"
)

// delivery returns a message of key with a value in every field that is kept.
func delivery(key string) headrace.Delivery {
	return headrace.Delivery{
		Scope: scope, Key: key, Fingerprint: "print of " + key,
		ID: "id of " + key, Topic: "orders", Payload: []byte(`{"order":"` + key + `"}`),
		Metadata:    map[string]string{"name": key, "other": ""},
		Coordinates: headrace.Coordinates{Broker: "kafka", Topic: "orders", Partition: "3", Position: "42"},
		Time:        time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC),
		Trace:       headrace.TraceContext{Parent: "00-0af7-b7ad-01", State: "vendor=1"},
		ReplyTopic:  "invoices",
		Attempt:     1,
	}
}

// awkward are payloads and headers that a store must keep byte for byte
// (invariant 14).
var awkward = []struct {
	name     string
	payload  []byte
	metadata map[string]string
}{
	{"nil", nil, map[string]string{}},
	{"empty", []byte{}, map[string]string{"": ""}},
	{"zero byte", []byte{0}, map[string]string{"nul": "a\x00b", "n\x00ul": "v"}},
	{"invalid UTF-8", []byte{0xff, 0xfe, 0xc3, 0x28}, map[string]string{"bad": "\xff\xfe", "b\xffad": "\xc3\x28"}},
	{"escapes", []byte(`{"a":"\u0000\ud800"} trailing`), map[string]string{`"quoted"`: `\x00`, "line": "a\r\nb"}},
	{"markup", []byte("\xef\xbb\xbf<script>'; DROP TABLE x; --"), map[string]string{"{{schema}}": "$1 ? :a @b"}},
	{"unicode", []byte("caf\u00e9 cafe\u0301 \U0001f600"), map[string]string{"caf\u00e9": "1", "cafe\u0301": "2"}},
	{"1 MiB", bytes.Repeat([]byte{0, 1, 0xfe, 0xff}, 1<<18), map[string]string{"long": string(bytes.Repeat([]byte("x"), 1<<16))}},
}

// asKept compares rows as stores keep them: nothing and empty are one, but for bytes.
var asKept = cmp.Options{
	cmp.FilterPath(func(p cmp.Path) bool { return p.Last().Type() != reflect.TypeFor[[]byte]() }, cmpopts.EquateEmpty()),
	cmp.Comparer(func(a, b []byte) bool { return (a == nil) == (b == nil) && bytes.Equal(a, b) }),
}

// item returns a ready row of the backlog.
func item(key string) backlog.Item {
	return backlog.Item{Consumer: consumer, Handler: handler, Delivery: delivery(key)}
}

// keyed returns a ready row of the backlog with an order key, which chooses its
// shard.
func keyed(key, orderKey string) backlog.Item {
	i := item(key)
	i.Delivery.OrderKey = orderKey
	return i
}

// ordered returns a ready row that is strict.
func ordered(key, orderKey string) backlog.Item {
	i := keyed(key, orderKey)
	i.Strict = true
	return i
}

// later returns i with a delay.
func later(i backlog.Item, delay time.Duration) backlog.Item {
	i.Delay = delay
	return i
}

// letter returns a dead letter with a value in every field that is kept.
func letter(key string) dlq.Letter {
	return dlq.Letter{
		State: dlq.Open, Class: dlq.Permanent, Consumer: consumer, Handler: handler, Delivery: delivery(key),
		Error: "card refused", Chain: []string{"*fmt.wrapError: card refused", "*card.Error: refused"},
		Stack: "goroutine 1 [running]:", ErrorFingerprint: "print-1", Host: "host-1", Build: "v1.2.3", Environment: "test",
	}
}

// event returns an encoded event; the number tells it apart.
func event(topic, orderKey string, n int) headrace.Event {
	return headrace.Event{
		ID: fmt.Sprintf("event-%d", n), Topic: topic, OrderKey: orderKey, Payload: fmt.Appendf(nil, "payload %d", n),
		Metadata: map[string]string{"n": fmt.Sprint(n)}, Trace: headrace.TraceContext{Parent: "00-0af7-b7ad-01", State: "vendor=1"},
	}
}

// delayed returns row with a delay.
func delayed(row outbox.Row, delay time.Duration) outbox.Row {
	row.Event.Delay = delay
	return row
}

// keptItems returns the row of the backlog that a redrive of l makes.
func keptItems(l dlq.Letter) []backlog.Item {
	return []backlog.Item{{
		Consumer: l.Consumer, Handler: l.Handler, Delivery: l.Delivery, Strict: l.Strict,
		LetterID: l.LetterID, Redrives: l.Redrives + 1,
	}}
}
