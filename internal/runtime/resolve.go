package runtime

import (
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/task"
)

// Task turns a message received from source into a task: key, order key, fingerprint,
// body. It never fails: a message that cannot be resolved becomes a task that ends as an undecodable
// dead letter, with the complete message.
func (h *Handler) Task(m *message.Message, topic string, source message.Subscriber) *task.Task {
	t := h.received(m, topic)
	h.identify(t, m, source)
	return t
}

// received returns a task for m, without its key.
func (h *Handler) received(m *message.Message, topic string) *task.Task {
	t := &task.Task{Handler: h.Handler, Context: m.Context(), Delivery: inbox.Received(m, h.Scope, topic)}
	t.Receipt = h.Telemetry.Receive(m.Context(), &t.Delivery)
	return t
}

// identify resolves t, which m became, or sets Bad.
func (h *Handler) identify(t *task.Task, m *message.Message, source message.Subscriber) {
	key, unreadable := h.Key, headrace.ArrivalFrom(m.Context()).Unreadable
	if unreadable != nil { // its bytes must not be used as its key
		key = func(*headrace.Delivery) (string, error) { return "", unreadable }
	}
	t.Bad = h.resolve(t, key, source)
	t.Receipt.Taken(t.Bad != nil)
}

// redeliverer is a consumer.Redeliverer.
type redeliverer interface {
	ChangedByRedelivery(header string) bool
}

// resolve turns a panic of the user's functions into an error.
func (h *Handler) resolve(t *task.Task, key inbox.KeyFunc, source message.Subscriber) error {
	var changes func(header string) bool
	if r, ok := source.(redeliverer); ok {
		changes = r.ChangedByRedelivery
	}
	d := &t.Delivery
	err := inbox.Identify(d, key, h.Fingerprint, changes)
	if err == nil {
		var p *attempt.Panic
		p, err = attempt.Catch(func() (err error) {
			d.OrderKey = h.OrderKey(d)
			t.Body, err = h.Decode(d)
			return err
		})
		if p != nil {
			err = fmt.Errorf("resolve the message: panic of type %T", p.Value)
		}
	}
	d.OrderKey = encode.Fit(d.OrderKey, inbox.MaxKeyBytes)
	return task.Sound(err)
}

// verify asks the key function for the key of d, an intent that has one.
func (h *Handler) verify(d *headrace.Delivery) error {
	key, err := inbox.Resolve(h.Key, d)
	switch {
	case err != nil:
		return fmt.Errorf("the key of an intent: %w", err)
	case key != d.Key:
		return errors.New("the handler's key function gives another key than the intent was started with: do both programs have the same intent.Kind, and the same release of it?")
	}
	return nil
}
