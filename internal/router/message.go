package router

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// errNacked is the failure of a handler that gave its message back and returned nil.
var errNacked = errors.New("the handler called Nack on its message and returned no error")

// newMessage returns the message of d for one attempt. It shares nothing with d: the next
// attempt and the dead letter have the message as it came, whatever a handler does to its own.
func newMessage(ctx context.Context, d *headrace.Delivery) *message.Message {
	m := message.NewMessageWithContext(ctx, d.ID, bytes.Clone(d.Payload))
	maps.Copy(m.Metadata, d.Metadata)
	return m
}

// call calls h with m, a message of newMessage. A Nack on it, which the Router does not see,
// is a failure.
func call(h message.HandlerFunc, m *message.Message) ([]*message.Message, error) {
	out, err := h(m)
	if err == nil && done(m.Nacked()) {
		err = errNacked
	}
	return out, err
}

// publish writes what a handler returned into the outbox.
func publish(tx *headrace.Tx, topic string, produced []*message.Message) error {
	if len(produced) == 0 {
		return nil
	}
	if topic == "" {
		return fmt.Errorf("%w: the handler returned %d messages, but has no publish topic that an event may have: give AddHandler one, or publish by headrace.TxFrom",
			message.ErrOutputInNoPublisherHandler, len(produced))
	}
	events := make([]headrace.Event, 0, len(produced))
	for i, p := range produced {
		if p == nil {
			return fmt.Errorf("message #%d that the handler returned is nil", i)
		}
		e := headrace.Event{ID: p.UUID, Topic: topic, Payload: p.Payload, Tombstone: p.Payload == nil, Metadata: p.Metadata}
		events = append(events, e)
	}
	return tx.Publish(events...)
}

// replyTopic is where the Router would publish what the handler of m returns; empty
// where no event may have that topic, since stores would not keep it as it is.
func replyTopic(m *message.Message) string {
	topic := message.PublishTopicFromCtx(m.Context())
	if _, err := (headrace.Event{Topic: topic, Payload: []byte{}}).Encode(nil); err != nil {
		return ""
	}
	return topic
}
