package routertest

import (
	"errors"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/outbox"
)

var errNoTx = errors.New("no transaction in the message's context")

// Message returns a message.
func Message(id, payload string) *message.Message { return message.NewMessage(id, []byte(payload)) }

// Send publishes messages of Topic.
func (b *Bench) Send(ms ...*message.Message) {
	b.Helper()
	if err := b.PubSub.Publish(Topic, ms...); err != nil {
		b.Fatal(err)
	}
}

// Eventually waits until cond holds: for what commits without a signal to a test.
func (b *Bench) Eventually(what string, cond func() bool) {
	b.Helper()
	deadline := time.Now().Add(limit)
	for !cond() {
		if time.Now().After(deadline) {
			b.Fatalf("did not come: %s", what)
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// Watch returns a middleware to stand outside of all others, which sends what the
// Router is told of each delivery.
func Watch() (message.HandlerMiddleware, <-chan error) {
	told := make(chan error, 1<<16)
	return func(next message.HandlerFunc) message.HandlerFunc {
		return func(m *message.Message) ([]*message.Message, error) {
			out, err := next(m)
			if err == nil && len(out) > 0 {
				err = errors.New("the Router is to publish")
			}
			told <- err
			return out, err
		}
	}, told
}

// Next waits for what the Router is told next.
func (b *Bench) Next(told <-chan error) error {
	b.Helper()
	select {
	case err := <-told:
		return err
	case <-time.After(limit):
		b.Fatal("the Router was told nothing")
		return nil
	}
}

// Letters returns the open dead letters whole, newest first.
func (b *Bench) Letters() []dlq.Letter {
	b.Helper()
	list, err := b.Store.Letters().List(b.Context(), dlq.Filter{}, 0, 100)
	if err != nil {
		b.Fatal(err)
	}
	for i := range list {
		if list[i], err = b.Store.Letters().Get(b.Context(), list[i].LetterID); err != nil {
			b.Fatal(err)
		}
	}
	return list
}

// Events returns the ready events of the outbox.
func (b *Bench) Events() []outbox.Row {
	b.Helper()
	t, err := b.Store.Store.Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	defer t.Rollback()
	var all []outbox.Row
	for shard := range outbox.Shards {
		rows, err := b.Store.Store.Outbox().Read(b.Context(), t, shard, 0, 1000)
		if err != nil {
			b.Fatal(err)
		}
		all = append(all, rows...)
	}
	return all
}
