package consumer

import (
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/group"
)

// resolver turns a received message into a task: key, order key, fingerprint, body.
// It never fails: what cannot be resolved becomes a task that ends as an undecodable
// dead letter, with the message whole.
type resolver struct {
	handler     *group.Handler
	key         inbox.KeyFunc
	fingerprint inbox.FingerprintFunc
	orderKey    func(*headrace.Delivery) string
}

func (r resolver) task(m *message.Message) *group.Task { return r.taskOf(m, r.handler.Topic) }

func (r resolver) taskOf(m *message.Message, topic string) *group.Task {
	t := &group.Task{Context: m.Context(), Delivery: inbox.Received(m, r.handler.Scope, topic)}
	t.Receipt = r.handler.Telemetry.Receive(m.Context(), &t.Delivery)
	key, unreadable := r.key, headrace.ArrivalFrom(m.Context()).Unreadable
	if unreadable != nil { // nothing that its bytes seem to hold is its key
		key = func(*headrace.Delivery) (string, error) { return "", unreadable }
	}
	if t.Bad = inbox.Identify(&t.Delivery, key, r.fingerprint); t.Bad == nil {
		t.Bad = contain("resolve the message", func() error { return r.resolve(t) })
	}
	t.Receipt.Taken(t.Bad != nil)
	return t
}

func (r resolver) resolve(t *group.Task) (err error) {
	t.Delivery.OrderKey = encode.Fit(r.orderKey(&t.Delivery), inbox.MaxKeyBytes)
	t.Body, err = r.handler.Decode(&t.Delivery)
	return err
}

// contain turns a panic of the user's functions into an error.
func contain(what string, f func() error) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("%s: panic of type %T", what, v)
		}
	}()
	return f()
}
