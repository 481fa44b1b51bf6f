package consumertest_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// The kit works for every kind of handler.

func TestBatchHandler(t *testing.T) {
	batch := wired(func(c *consumer.Consumer, _ *consumertest.Process) {
		consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[order]) error {
			failed := consumer.BatchError{}
			for i, m := range ms {
				if err := invoice(ctx, tx, m); err != nil {
					failed[i] = err
				}
			}
			if len(failed) > 0 {
				return failed
			}
			return nil
		})
	})
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, batch)
		free := consumertest.JSON(topic, "w", order{"free", 0})
		k.CrashAt(consumertest.MidHandler, consumertest.BeforeCommit)
		k.FailAttempt(paid("2"), 1, consumertest.BeforeEffects, errTotal)
		k.FailAttempt(paid("3"), 1, consumertest.AfterEffects, errTotal)
		k.Deliver(paid("1"), paid("2"), free, paid("3"), paid("1"))
		for _, id := range []string{"1", "2", "3"} {
			k.AppliedOnce(paid(id), invoiced, id)
			k.Published(consumertest.Event{Topic: "invoices.created", Key: id})
		}
		k.DeadLettered(free, dlq.Permanent, errTotal)
		if n := len(k.Attempts(paid("1"))); n != 0 {
			t.Errorf("a neighbour has %d attempts", n)
		}
	})
}

func TestLeasedHandler(t *testing.T) {
	leased := wired(func(c *consumer.Consumer, _ *consumertest.Process) {
		consumer.HandleLeased(c, topic, func(_ context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
			if m.Body.Total == 1 {
				return nil, nil // nothing to apply
			}
			return func(ctx context.Context, tx *headrace.Tx) error { return invoice(ctx, tx, m) }, nil
		})
	})
	for i, p := range consumertest.HandlerPoints() {
		t.Run(string(p), func(t *testing.T) {
			onEachOf(t, i, func(t *testing.T, db consumertest.Database) {
				k := kit(t, db, leased)
				k.CrashAt(p)
				k.Deliver(paid("1"))
				k.AppliedOnce(paid("1"), invoiced, "1")
				k.FailAttempt(paid("2"), 1, consumertest.BeforeEffects, errTotal)
				k.FailAttempt(paid("3"), 1, consumertest.AfterEffects, errTotal)
				small := consumertest.JSON(topic, "w", order{"small", 1})
				k.FailAttempt(small, 1, consumertest.AfterEffects, errTotal)
				k.Deliver(paid("2"), paid("3"), small)
				for _, id := range []string{"2", "3"} {
					k.AppliedOnce(paid(id), invoiced, id)
				}
				if k.State(small) != inbox.Done {
					t.Errorf("state %q", k.State(small))
				}
			})
		})
	}
}

// A message that crashes its process each time becomes a dead letter.
func TestMessageThatKills(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, wire)
		k.Deliver(paid("0"))
		k.Settle()
		// The first runs unmarked, which accuses no message, and the second in a batch.
		k.CrashAt(slices.Repeat([]consumertest.Point{consumertest.MidHandler}, 5)...)
		k.Deliver(paid("1"))
		k.DeadLettered(paid("1"), dlq.Crashed, nil)
		k.NotPublished(consumertest.Event{Key: "1"})
	})
}

func TestNestedAndNewer(t *testing.T) {
	guarded := wired(func(c *consumer.Consumer, _ *consumertest.Process) {
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			if err := inbox.Newer(ctx, tx, "shop", m.Body.Total); err != nil {
				return err
			}
			err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
				if err := invoice(ctx, tx, m); err != nil {
					return err
				}
				return errors.New("undo this part")
			})
			if err == nil {
				return errors.New("Nested passed over an error")
			}
			return invoice(ctx, tx, m)
		}, consumer.Intake())
	})
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, guarded)
		newer, older := consumertest.JSON(topic, "a", order{"new", 10}), consumertest.JSON(topic, "b", order{"old", 5})
		k.CrashAt(consumertest.AfterClaim)
		k.Deliver(newer)
		k.AppliedOnce(newer, invoiced, "new")
		k.Deliver(older)
		k.Skipped(older)
		if n := k.Count(invoiced, "old"); n != 0 {
			t.Errorf("%d effects of a message that was skipped", n)
		}
		k.Published(consumertest.Event{Topic: "invoices.created"})
	})
}

// Events that go to a handler of the same database, without a broker.
func TestLocalHandler(t *testing.T) {
	local := func(p *consumertest.Process) (*consumer.Consumer, error) {
		c, err := consumer.New("billing", p.Store, consumer.Config{
			Source: p.Source, Sink: p.Sink, Logger: p.Logger, Key: key(), Retry: policy,
		})
		if err != nil {
			return nil, err
		}
		consumer.Handle(c, topic, invoice)
		consumer.Handle(c, "invoices.created", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", "booked-"+m.Body.ID, m.Body.Total)
			return err
		}, consumer.Local(), consumer.Name("ledger"))
		return c, nil
	}
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, local)
		k.CrashAt(consumertest.BeforeCommit, consumertest.RelayBeforeCommit)
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
		if n := k.Count(invoiced, "booked-1"); n != 1 {
			t.Errorf("%d effects of the local handler", n)
		}
	})
}

// A Router with consumer.Attach.
func TestRouter(t *testing.T) {
	routed := func(p *consumertest.Process) (*consumer.Consumer, error) {
		router, err := message.NewRouter(message.RouterConfig{}, watermill.NopLogger{})
		if err != nil {
			return nil, err
		}
		router.AddHandler("invoices", topic, p.Source, "invoices.created", p.Sink, func(m *message.Message) ([]*message.Message, error) {
			tx, _ := headrace.TxFrom(m.Context())
			if _, err := tx.ExecContext(m.Context(), "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.UUID, 1); err != nil {
				return nil, err
			}
			return []*message.Message{message.NewMessage("created-"+m.UUID, m.Payload)}, nil
		})
		p.Run = router.Run
		return consumer.Attach(router, p.Store, consumer.Config{Name: "billing", Sink: p.Sink, Logger: p.Logger, Key: key(), Retry: policy})
	}
	for i, p := range []consumertest.Point{consumertest.AfterReceive, consumertest.MidHandler, consumertest.AfterCommit, consumertest.RelayPublished} {
		t.Run(string(p), func(t *testing.T) {
			onEachOf(t, i, func(t *testing.T, db consumertest.Database) {
				k := kit(t, db, routed)
				k.CrashAt(p)
				k.FailAttempt(paid("2"), 1, consumertest.AfterEffects, errTotal)
				k.FailAttempt(paid("3"), 1, consumertest.BeforeEffects, retry.Permanent(errTotal))
				k.Deliver(paid("1"), paid("2"), paid("3"))
				for _, id := range []string{"1", "2"} {
					k.AppliedOnce(paid(id), invoiced, "webhook-"+id)
					k.Published(consumertest.Event{Topic: "invoices.created", ID: "created-webhook-" + id})
				}
				k.DeadLettered(paid("3"), dlq.Permanent, errTotal)
			})
		})
	}
}
