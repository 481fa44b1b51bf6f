package runtime

import (
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/task"
)

// Task turns a received message into a task: key, order key, fingerprint, body. It never
// fails: a message that cannot be resolved becomes a task that ends as an undecodable
// dead letter, with the complete message.
func (h *Handler) Task(m *message.Message, topic string) *task.Task {
	t := &task.Task{Handler: h.Handler, Context: m.Context(), Delivery: inbox.Received(m, h.Scope, topic)}
	t.Receipt = h.Telemetry.Receive(m.Context(), &t.Delivery)
	key, unreadable := h.Key, headrace.ArrivalFrom(m.Context()).Unreadable
	if unreadable != nil { // its bytes must not be used as its key
		key = func(*headrace.Delivery) (string, error) { return "", unreadable }
	}
	if t.Bad = inbox.Identify(&t.Delivery, key, h.Fingerprint); t.Bad == nil {
		t.Bad = h.resolve(t)
	}
	t.Receipt.Taken(t.Bad != nil)
	return t
}

// resolve turns a panic of the user's functions into an error.
func (h *Handler) resolve(t *task.Task) error {
	p, err := attempt.Catch(func() (err error) {
		t.Delivery.OrderKey = encode.Fit(h.OrderKey(&t.Delivery), inbox.MaxKeyBytes)
		t.Body, err = h.Decode(&t.Delivery)
		return err
	})
	if p != nil {
		return fmt.Errorf("resolve the message: panic of type %T", p.Value)
	}
	return err
}
