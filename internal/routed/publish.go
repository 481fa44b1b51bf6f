package routed

import (
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
)

// errNacked is the failure of a handler that gave its message back and returned nil.
var errNacked = errors.New("the handler called Nack on its message and returned no error")

// Call calls h with c, a copy of the Router's message. A Nack on the copy, which the
// Router does not see, is a failure.
func Call(h message.HandlerFunc, c *message.Message) ([]*message.Message, error) {
	out, err := h(c)
	if err != nil {
		return nil, err
	}
	select {
	case <-c.Nacked():
		return nil, errNacked
	default:
		return out, nil
	}
}

// Publish writes what a handler returned into the outbox.
func Publish(tx *headrace.Tx, topic string, produced []*message.Message) error {
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
		e := headrace.Event{ID: p.UUID, Topic: topic, Payload: p.Payload, Metadata: p.Metadata}
		if e.Payload == nil {
			e.Payload = []byte{}
		}
		events = append(events, e)
	}
	return tx.Publish(events...)
}

// ReplyTopic is where the Router would publish what the handler of m returns; empty
// where no event may have that topic, since stores would not keep it as it is.
func ReplyTopic(m *message.Message) string {
	topic := message.PublishTopicFromCtx(m.Context())
	if _, err := (headrace.Event{Topic: topic, Payload: []byte{}}).Encode(nil); err != nil {
		return ""
	}
	return topic
}

// CopyTopic asks name for the topic of the copies of topic's dead letters; "" means
// none. The error is of a panic, and of a topic that no event may have.
func CopyTopic(name func(topic string) string, topic string) (dead string, err error) {
	p, err := attempt.Catch(func() error {
		if dead = name(topic); dead == "" {
			return nil
		}
		_, err := headrace.Event{Topic: dead, Payload: []byte{}}.Encode(nil)
		return err
	})
	if p != nil {
		return "", fmt.Errorf("name the topic: panic of type %T", p.Value)
	}
	return dead, err
}
