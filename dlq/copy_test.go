package dlq_test

import (
	"maps"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
)

// DESIGN §3 Relay: copies of dead letters carry no order key, so that one that the sink
// refuses holds up no other.
//
//evidence:copies
func TestCopiesKeepNoOrder(t *testing.T) {
	letter := dlq.Letter{Delivery: headrace.Delivery{Key: "m", OrderKey: "customer", Topic: "orders", Payload: []byte("x")}}
	if c := dlq.Copy(letter, "orders.dead"); c.OrderKey != "" || c.Topic != "orders.dead" || string(c.Payload) != "x" {
		t.Errorf("copy: topic %q, order key %q, payload %q", c.Topic, c.OrderKey, c.Payload)
	}
}

// What a program in any language needs is in headers of plain names; what is unknown is not.
func TestCopiesSayWhereTheMessageWas(t *testing.T) {
	letter := dlq.Letter{
		LetterID: 7, Class: dlq.Exhausted, Consumer: "billing", Handler: "orders", Error: "card refused", ErrorFingerprint: "f", Attempts: 5,
		Delivery: headrace.Delivery{
			ID: "m-1", Key: "k", OrderKey: "customer", Topic: "orders", Payload: []byte("x"),
			Metadata:    map[string]string{"content-type": "text/plain", dlq.HeaderClass: "forged", dlq.HeaderPartition: "forged"},
			Coordinates: headrace.Coordinates{Broker: "kafka", Topic: "orders@1", Partition: "3", Position: "42"},
			Time:        time.Date(2026, 3, 4, 5, 6, 7, 890_000_000, time.UTC),
		},
	}
	want := map[string]string{
		"content-type": "text/plain", "headrace_letter": "7", "headrace_class": "exhausted", "headrace_consumer": "billing", "headrace_handler": "orders",
		"headrace_error": "card refused", "headrace_error_fingerprint": "f", "headrace_attempts": "5", "headrace_topic": "orders",
		"headrace_partition": "3", "headrace_position": "42", "headrace_time": "2026-03-04T05:06:07.89Z", "headrace_message_id": "m-1",
		"headrace_order_key": "customer", "headrace_key": "k",
	}
	if got := dlq.Copy(letter, "orders.dead").Metadata; !maps.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if len(dlq.Headers()) != len(want)-1 {
		t.Errorf("Headers has %d names", len(dlq.Headers()))
	}
	letter.Delivery.Coordinates, letter.Delivery.Time, letter.Delivery.ID = headrace.Coordinates{}, time.Time{}, ""
	got := dlq.Copy(letter, "orders.dead").Metadata
	for _, name := range []string{dlq.HeaderPartition, dlq.HeaderPosition, dlq.HeaderTime, dlq.HeaderMessageID} {
		if value, has := got[name]; has {
			t.Errorf("%s is %q although it is unknown", name, value)
		}
	}
}
