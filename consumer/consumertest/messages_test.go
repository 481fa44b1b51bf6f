package consumertest_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/retry"
)

// wiredTo is wired with one handler.
func wiredTo(handler func(context.Context, *headrace.Tx, *consumertest.Process, string) error) consumertest.Wire {
	return wired(func(c *consumer.Consumer, p *consumertest.Process) {
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			return handler(ctx, tx, p, m.Body.ID)
		})
	})
}

const addInvoices = "INSERT INTO invoices (order_id, total) VALUES ($1, 1)"

// A stable id does not hide that a handler publishes by the Sink itself.
func TestPublishingPastTheOutboxUnderOneIDIsFound(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		says(t, failure(func(t testing.TB) {
			k := kit(t, db, wiredTo(func(_ context.Context, _ *headrace.Tx, p *consumertest.Process, id string) error {
				return p.Sink.Publish("invoices.created", message.NewMessage("invoice-"+id, []byte("{}")))
			}))
			k.CrashAt(consumertest.BeforeCommit)
			k.Deliver(paid("1"))
			k.Published(consumertest.Event{Topic: "invoices.created"})
		}), "published past the Tx, 2 times", "Use tx.Publish")
	})
}

// A handler that waits for itself on SQLite is told so.
func TestHandlerThatWaitsForItselfIsTold(t *testing.T) {
	t.Parallel() // it takes as long as the store waits for the lock
	said := failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), wiredTo(func(ctx context.Context, _ *headrace.Tx, p *consumertest.Process, id string) error {
			_, err := p.DB.ExecContext(ctx, addInvoices, id)
			return retry.Permanent(err)
		}))
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
	})
	says(t, said, "until it gave up", "waits for itself", "Write by the handler's Tx")
	said = failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), wiredTo(func(ctx context.Context, _ *headrace.Tx, p *consumertest.Process, id string) error {
			ctx, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			_, err := p.DB.ExecContext(ctx, addInvoices, id)
			return retry.Permanent(err)
		}))
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
	})
	says(t, said, "ran out of time", "waits for itself")
}

// What holds for a dead letter is said of it, and what happened once.
func TestFailureOfADeadLetter(t *testing.T) {
	said := failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), wiredTo(func(context.Context, *headrace.Tx, *consumertest.Process, string) error {
			return retry.Permanent(errTotal)
		}))
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
		k.Skipped(paid("1"))
		k.Published(consumertest.Event{Topic: "invoices.created"})
	})
	says(t, said, "AppliedOnce: 0 effects", "None: it is a dead letter", errTotal.Error(), "Skipped: ", "Published: ")
	if strings.Contains(said, "did the handler return nil") {
		t.Errorf("it asks whether the handler of a dead letter returned nil:\n%s", said)
	}
	if n := strings.Count(said, "delivery 1 to process 1"); n != 1 {
		t.Errorf("what happened is told %d times:\n%s", n, said)
	}
}

// The kit's own copy of a dead letter is no event of the handler's.
func TestCopiesOfDeadLettersAreNotMeant(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, wire)
		free := consumertest.JSON(topic, "w", order{"free", 0})
		k.Deliver(free)
		k.DeadLettered(free, dlq.Permanent, errTotal)
		k.NotPublished(consumertest.Event{})
		k.Published(consumertest.Event{Topic: topic + ".dead"})
	})
}

// Config.HandlerTimeout: nil within the grace is success.
func TestNilWithinTheGraceIsSuccess(t *testing.T) {
	onEach(t, func(t *testing.T, db consumertest.Database) {
		k := kit(t, db, func(p *consumertest.Process) (*consumer.Consumer, error) {
			c, err := consumer.New("billing", p.Store, consumer.Config{
				Source: p.Source, Logger: p.Logger, Key: key(), Retry: policy, HandlerTimeout: 50 * time.Millisecond,
			})
			if err != nil {
				return nil, err
			}
			consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
				<-ctx.Done()
				_, err := tx.ExecContext(context.WithoutCancel(ctx), addInvoices, m.Body.ID)
				return err
			})
			return c, nil
		})
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
		if n := len(k.Attempts(paid("1"))); n != 0 {
			t.Errorf("%d failed attempts", n)
		}
	})
}

// The package's Caveats: the error of a statement that is swallowed fails the attempt on
// PostgreSQL, and only there.
func TestSwallowedErrors(t *testing.T) {
	swallows := func(failed *atomic.Bool) consumertest.Wire {
		return wiredTo(func(ctx context.Context, tx *headrace.Tx, _ *consumertest.Process, id string) error {
			if _, err := tx.ExecContext(ctx, addInvoices, id); err != nil {
				return err
			}
			_, err := tx.ExecContext(ctx, "INSERT INTO nowhere (a) VALUES (1)")
			failed.Store(err != nil)
			return nil
		})
	}
	var lite, pg atomic.Bool
	k := kit(t, consumertest.SQLite(), swallows(&lite))
	k.Deliver(paid("1"))
	k.AppliedOnce(paid("1"), invoiced, "1")
	k = kit(t, consumertest.Postgres(dsn(t)), swallows(&pg))
	k.Deliver(paid("1"))
	k.DeadLettered(paid("1"), dlq.Exhausted, nil)
	if !lite.Load() || !pg.Load() {
		t.Error("the statement did not fail")
	}
}
