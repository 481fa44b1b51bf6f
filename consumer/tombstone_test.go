package consumer_test

import (
	"context"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// nil is not empty: a tombstone is nil on its way through the backlog, the dead letter, its
// copy, the redrive, the outbox and local delivery. An empty payload stays one.
func TestTombstonesStayNil(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		out := &sink{make(chan *message.Message, 100)}
		config := b.config()
		config.Sink, config.Codec = out, codec.Raw()
		c := b.consumer(config)
		var r runs
		seen := make(chan bool, 100)
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, m *headrace.Message[[]byte]) error {
			seen <- m.Body == nil && m.Payload == nil
			switch n := r.next(m.ID); {
			case n == 3:
				return retry.Permanent(errBoom)
			case n < 3:
				return errBoom
			}
			return tx.Publish(headrace.Event{ID: "of " + m.ID, Topic: "out", Payload: m.Body, Tombstone: m.Body == nil})
		})
		consumer.Handle(c, "out", func(_ context.Context, _ *headrace.Tx, m *headrace.Message[[]byte]) error {
			seen <- m.Body == nil
			return nil
		}, consumer.Local())
		b.start(c)
		for id, payload := range map[string][]byte{"none": nil, "empty": {}} {
			b.acked(b.src.Deliver(topic, id, payload, nil))
			b.eventually("the letter", func() bool { return b.state(id) == inbox.Dead })
			l, err := b.st.Letters().Get(b.Context(), b.letters(dlq.Filter{Key: id})[0].LetterID)
			if err != nil || (l.Delivery.Payload == nil) != (payload == nil) {
				b.Errorf("%s: the letter has %#v, %v", id, l.Delivery.Payload, err)
			}
			if m := <-out.got; (m.Payload == nil) != (payload == nil) || m.Metadata["topic-of-sink"] != topic+".dead" {
				b.Errorf("%s: the copy on %s has %#v", id, m.Metadata["topic-of-sink"], m.Payload)
			}
			if _, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{Filter: dlq.Filter{Key: id}, By: "ann", Reason: "mended"}); err != nil {
				b.Fatal(err)
			}
			if m := <-out.got; (m.Payload == nil) != (payload == nil) || m.UUID != "of "+id {
				b.Errorf("%s: the event %s has %#v", id, m.UUID, m.Payload)
			}
			for range 5 { // four runs, and the local one
				if none := <-seen; none != (payload == nil) {
					b.Errorf("%s: a handler was given a payload that is nil: %t", id, none)
				}
			}
		}
	})
}
