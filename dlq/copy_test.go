package dlq_test

import (
	"testing"

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
