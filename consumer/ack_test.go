package consumer_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// probed is a store that asks before each commit and after it.
type probed struct {
	store.Store
	probe func(when string)
}

func (p *probed) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	p.probe("before a commit")
	err := p.Store.Commit(ctx, t, events)
	p.probe("after a commit")
	return err
}

// Check makes the decorated store a store.Checker.
func (p *probed) Check(ctx context.Context) (store.Report, error) {
	return p.Store.(store.Checker).Check(ctx)
}

// Invariant 5, DESIGN §2: nothing is acknowledged before the commit that says where it
// is, whatever becomes of it: applied, retried now or later, dead, undecodable, conflict.
//
//evidence:ack
func TestAckComesAfterTheCommit(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var mu sync.Mutex
		sent := make(map[*message.Message]func() bool) // whether it is durable
		probe := func(when string) {
			mu.Lock()
			defer mu.Unlock()
			for m, durable := range sent {
				select {
				case <-m.Acked():
					if !durable() {
						b.Errorf("%s: %s is acknowledged and nowhere", when, m.UUID)
					}
				default:
				}
			}
		}
		b.st = &probed{b.st, probe}
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			probe("in a handler")
			switch {
			case m.Body.N == 1 && m.Attempt == 1:
				return errBoom
			case m.Body.N == 2 && m.Attempt == 1:
				return retry.After(time.Millisecond, errBoom)
			case m.Body.N == 3:
				return retry.Permanent(errBoom)
			}
			return insert(ctx, tx, m)
		})
		var all []*message.Message
		deliver := func(id, payload string, durable func() bool) {
			m := message.NewMessage(id, []byte(payload))
			mu.Lock()
			sent[m] = durable
			mu.Unlock()
			all = append(all, m)
			b.src.DeliverMessage(topic, m)
		}
		there := func(id string) func() bool { return func() bool { return b.state(id) != "" } }
		b.start(c)
		for n := range 4 {
			id := fmt.Sprint("m", n)
			deliver(id, fmt.Sprintf(`{"n":%d}`, n), there(id))
		}
		deliver("garbage", "no json", there("garbage"))
		b.acked(all...)
		deliver("m0", `{"n":7}`, func() bool { return len(b.letters(dlq.Filter{Class: dlq.Conflict})) == 1 })
		b.acked(all...)
		b.eventually("m2 is applied", func() bool { return b.state("m2") == inbox.Done })
		if err := b.halt(); err != nil {
			b.Error(err)
		}
	})
}
