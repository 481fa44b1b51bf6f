package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
)

// upsert is a handler that keeps the newest state of an order: its effect tells the
// version that was applied.
func upsert(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	if _, err := tx.ExecContext(ctx, "INSERT INTO effects (seq, msg) VALUES ($1, 'applied')", m.Body.N); err != nil {
		return err
	}
	return inbox.Newer(ctx, tx, "order", int64(m.Body.N))
}

// inbox.Newer through a consumer: an older message and an equal one leave no effect,
// and are done as stale; single handlers, batches, one group and many.
//
//evidence:stale
func TestNewer(t *testing.T) {
	handlers := map[string]func(*consumer.Consumer){
		"single": func(c *consumer.Consumer) { consumer.Handle(c, topic, upsert) },
		"alone":  func(c *consumer.Consumer) { consumer.Handle(c, topic, upsert, consumer.Alone()) },
		"batch": func(c *consumer.Consumer) {
			consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
				failed := consumer.BatchError{}
				for i, m := range ms {
					if err := upsert(ctx, tx, m); err != nil {
						failed[i] = err
					}
				}
				if len(failed) > 0 {
					return failed
				}
				return nil
			})
		},
	}
	for name, register := range handlers {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bundle) {
				config := b.config()
				config.OrderKey = func(*headrace.Delivery) string { return "order" } // one after the other
				c := b.consumer(config)
				register(c)
				var all []*message.Message
				for i, version := range []int{1, 3, 2, 3, 5, 4, 6} {
					all = append(all, b.deliver(fmt.Sprint("m", i), fmt.Sprintf(`{"n":%d}`, version)))
				}
				b.start(c)
				b.acked(all...)
				if got := b.count("SELECT sum(seq) FROM effects"); got != 1+3+5+6 {
					b.Errorf("the versions applied add up to %d", got)
				}
				if s := c.Stats(); s.Stale != 3 || s.Applied != 4 || s.FailedRuns != 0 {
					b.Errorf("stats %+v", s)
				}
				b.acked(b.deliver("m1", `{"n":3}`)) // a redelivery is a duplicate before it can be stale
				if s := c.Stats(); s.Stale != 3 || s.Duplicates != 1 {
					b.Errorf("stats after a redelivery %+v", s)
				}
			})
		})
	}
}

// Two processes, many entities, every order: what stands is the newest, and nothing
// was applied after something newer.
//
//evidence:stale
func TestNewerInTwoProcesses(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		const entities, versions = 5, 12
		handler := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			entity, version := m.Body.N%entities, m.Body.N/entities
			if err := inbox.Newer(ctx, tx, fmt.Sprint(entity), int64(version)); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "UPDATE newest SET version = $1, regressed = regressed + CASE WHEN version >= $1 THEN 1 ELSE 0 END WHERE entity = $2", version, entity)
			return err
		}
		b.exec("CREATE TABLE newest (entity INTEGER PRIMARY KEY, version INTEGER NOT NULL, regressed INTEGER NOT NULL)")
		for e := range entities {
			b.exec(fmt.Sprintf("INSERT INTO newest VALUES (%d, -1, 0)", e))
		}
		one, two := b.consumer(b.config()), b.consumer(b.config())
		consumer.Handle(one, topic, handler)
		consumer.Handle(two, topic, handler)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- two.Run(ctx) }()
		b.start(one)
		var all []*message.Message
		for n := range entities * versions {
			n = n * 37 % (entities * versions) // out of order
			all = append(all, b.deliver(fmt.Sprint("m", n), fmt.Sprintf(`{"n":%d}`, n)))
		}
		b.acked(all...)
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		b.eventually("reruns in the backlog are done", func() bool {
			return b.count("SELECT count(*) FROM headrace_backlog") == 0
		})
		if got := b.count("SELECT count(*) FROM newest WHERE version = $1 AND regressed = 0", versions-1); got != entities {
			b.Errorf("%d of %d entities stand at their newest version without a step back", got, entities)
		}
		if n := b.count("SELECT count(*) FROM headrace_dead_letters"); n != 0 {
			b.Errorf("%d dead letters", n)
		}
	})
}

// What fails after the guard, nested or not, leaves no version behind.
func TestNewerIsRolledBack(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var r runs
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
				if err := inbox.Newer(ctx, tx, "order", 7); err != nil {
					return err
				}
				return errBoom
			})
			if !errors.Is(err, errBoom) {
				return fmt.Errorf("nested: %w", err)
			}
			if err := inbox.Newer(ctx, tx, "order", 5); err != nil {
				return fmt.Errorf("after nested: %w", err)
			}
			if r.next(m.ID) == 1 {
				return errBoom
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		b.eventually("the second run is applied", func() bool { return b.state("m") == inbox.Done })
		if b.effects("m") != 1 || r.of("m") != 2 {
			b.Errorf("%d effects, %d runs", b.effects("m"), r.of("m"))
		}
	})
}
