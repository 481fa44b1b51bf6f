package consumer_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
)

// Two services of one database have Publishers of one type for two brokers, and forgot to give
// their outboxes names. The second one does not start, also while the first one is down, and
// what waits goes to the broker of the first. With one SinkID for both they share the outbox.
//
//evidence:outbox-names
func TestAnotherServiceDoesNotPublishTheOutbox(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		service := func(name, id string) (*consumer.Consumer, *sink) {
			config, s := b.config(), &sink{got: make(chan *message.Message, 10)}
			config.Sink, config.Relay = s, relay.Options{SinkID: id}
			c, err := consumer.New(name, b.st, config)
			if err != nil {
				t.Fatal(err)
			}
			consumer.Handle(c, topic, insert)
			return c, s
		}
		publish := func() {
			b.must(b.inTx(func(ctx context.Context, tx headrace.Execer) error {
				return outbox.New(b.st.Outbox()).Publish(ctx, tx, headrace.Event{Topic: "paid", Payload: []byte("{}")})
			}))
		}
		billing, first := service("billing", "")
		b.start(billing)
		publish()
		<-first.got
		b.must(b.halt())
		publish() // while no process of billing runs

		shipping, second := service("shipping", "")
		b.start(shipping)
		select {
		case err := <-b.ended:
			if !errors.Is(err, outbox.ErrOwned) || !strings.Contains(err.Error(), `"billing"`) || !strings.Contains(err.Error(), "Config.Relay.SinkID") {
				t.Errorf("the second service: %v", err)
			}
		case <-second.got:
			t.Fatal("the second service published an event of the first")
		}
		billing, first = service("billing", "broker")
		b.start(billing)
		<-first.got
		b.must(b.halt())
		shipping, third := service("shipping", "broker")
		b.start(shipping)
		publish()
		<-third.got
		b.must(b.halt())
	})
}

func (b *bundle) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatal(err)
	}
}

// inTx runs f in a transaction of the database.
func (b *bundle) inTx(f func(context.Context, headrace.Execer) error) error {
	tx, err := b.db.BeginTx(b.Context(), nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	if err := f(b.Context(), tx); err != nil {
		return err
	}
	return tx.Commit()
}
