package consumertest_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill"
	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// The kit is worth something only if wrong handlers fail in it.

// Effects on a connection of the handler's own survive the rollback of its transaction.
func TestEffectsOutsideTheTransactionAreFound(t *testing.T) {
	db := consumertest.Postgres(dsn(t)) // SQLite has one writer: the handler would wait for itself
	outside := wired(func(c *consumer.Consumer, p *consumertest.Process) {
		consumer.Handle(c, topic, func(ctx context.Context, _ *headrace.Tx, m *headrace.Message[order]) error {
			_, err := p.DB.ExecContext(ctx, "INSERT INTO invoices (order_id, total) VALUES ($1, $2)", m.Body.ID, m.Body.Total)
			return err
		})
	})
	for _, p := range []consumertest.Point{consumertest.MidHandler, consumertest.BeforeCommit} {
		says(t, failure(func(t testing.TB) {
			k := kit(t, db, outside)
			k.CrashAt(p)
			k.Deliver(paid("1"))
			k.AppliedOnce(paid("1"), invoiced, "1")
		}), "AppliedOnce: 2 effects, want 1", "an effect that does not go through the handler's Tx", "CRASHED at "+string(p), "billing/orders.paid", "done")
	}
	says(t, failure(func(t testing.TB) {
		k := kit(t, db, outside)
		k.FailAttempt(paid("1"), 1, consumertest.AfterEffects, errTotal)
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
	}), "AppliedOnce: 2 effects, want 1")
}

// What is published past the Tx is published by each attempt.
func TestPublishingPastTheTxIsFound(t *testing.T) {
	past := wired(func(c *consumer.Consumer, p *consumertest.Process) {
		consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[order]) error {
			return p.Sink.Publish("invoices.created", message.NewMessage(watermill.NewUUID(), []byte("{}")))
		})
	})
	says(t, failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), past)
		k.CrashAt(consumertest.BeforeCommit)
		k.Deliver(paid("1"))
		k.Published(consumertest.Event{Topic: "invoices.created"})
	}), "Published: 2 events fit, want one", "past the Tx")
}

// A handler that remembers in memory what it has seen loses messages: what failed after
// that is taken for a duplicate.
func TestMemoryOfTheHandlerIsFound(t *testing.T) {
	forgetful := wired(func(c *consumer.Consumer, _ *consumertest.Process) {
		var seen sync.Map
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[order]) error {
			if _, before := seen.LoadOrStore(m.Body.ID, true); before {
				return nil
			}
			return invoice(ctx, tx, m)
		})
	})
	says(t, failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), forgetful)
		k.FailAttempt(paid("1"), 1, consumertest.AfterEffects, errTotal)
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
	}), "AppliedOnce: 0 effects, want 1", "None: did the handler return nil without its effect")
}

// A key that differs between deliveries makes several messages of one.
func TestKeyOfTheDeliveryIsFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		consumertest.StableKey(t, inbox.MessageID(), paid("1"))
	}), "the key is not stable: sent again by its sender, under another message id", "webhook-1")
	says(t, failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), func(p *consumertest.Process) (*consumer.Consumer, error) {
			c, err := consumer.New("billing", p.Store, consumer.Config{Source: p.Source, Logger: p.Logger, Key: inbox.MessageID()})
			if err == nil {
				consumer.Handle(c, topic, invoice)
			}
			return c, err
		})
		again := paid("1")
		again.ID = "another"
		k.Deliver(paid("1"), again)
		k.AppliedOnce(paid("1"), invoiced, "1")
	}), "AppliedOnce: 2 effects, want 1", "a key that differs between deliveries")
}

// A failure of another class is not the one that was asked for, and nor is another cause.
func TestOtherDecisionsAreFound(t *testing.T) {
	temporary := wired(func(c *consumer.Consumer, _ *consumertest.Process) {
		consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[order]) error {
			return errors.New("no such customer")
		})
	})
	said := failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), temporary)
		k.Deliver(paid("1"))
		k.DeadLettered(paid("1"), dlq.Permanent, errTotal)
		k.AppliedOnce(paid("1"), invoiced, "1")
		k.Skipped(paid("1"))
		k.DeadLettered(paid("2"), dlq.Permanent, nil)
		k.Published(consumertest.Event{Topic: "invoices.created", Key: "1"})
	})
	says(t, said, `DeadLettered: class "exhausted", want "permanent"`, "its error is not the one expected", "got  no such customer",
		"AppliedOnce: not applied", "Skipped: not skipped", "DeadLettered: no open dead letter", "inbox: no row",
		`Published: no event fits: topic "invoices.created", key "1"`, "attempt 4 of billing/orders.paid failed: transient: no such customer", "run of order:1 for billing/orders.paid, attempt 1")
}

// A handler that ends its transaction itself stops the consumer, and the test says so.
func TestEndOfTheConsumerIsFound(t *testing.T) {
	db := consumertest.Postgres(dsn(t))
	ends := wired(func(c *consumer.Consumer, _ *consumertest.Process) {
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, _ *headrace.Message[order]) error {
			raw, err := tx.SQL()
			if err != nil {
				return err
			}
			return raw.Commit()
		}, consumer.Alone())
	})
	says(t, failure(func(t testing.TB) {
		k := kit(t, db, ends)
		k.Deliver(paid("1"))
		k.Settle()
	}), "Settle: ", inbox.ErrSwitched.Error())
}

// A fault that did not happen has proved nothing.
func TestUnreachedFaultsAreFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), wire)
		k.CrashAt(consumertest.LetterAfterCommit)
		k.FailAttempt(paid("1"), 2, consumertest.BeforeEffects, errTotal)
		k.Deliver(paid("1"))
		k.AppliedOnce(paid("1"), invoiced, "1")
	}), `CrashAt("letter-after-commit"): no process reached this point`, "FailAttempt: there was no attempt 2 of orders.paid")
}

// What breaks an invariant of the tables fails every test.
func TestBrokenInvariantsAreFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		k := kit(t, consumertest.SQLite(), wire)
		k.Deliver(paid("1"))
		k.Settle()
		k.Exec("UPDATE headrace_inbox SET state = 'waiting'")
	}), "invariant broken: ")
}

// Mistakes in the use of the kit say what to do.
func TestMistakes(t *testing.T) {
	for want, test := range map[string]func(k *consumertest.Kit){
		"no Topic":                func(k *consumertest.Kit) { k.Deliver(consumertest.Message{ID: "m"}) },
		"there is no such point":  func(k *consumertest.Kit) { k.CrashAt("nowhere") },
		"attempts count from 1":   func(k *consumertest.Kit) { k.FailAttempt(paid("1"), 0, consumertest.AfterEffects, errTotal) },
		"it must be at least 1":   func(k *consumertest.Kit) { k.DeliverAtOnce(0, paid("1")) },
		"Exec: ":                  func(k *consumertest.Kit) { k.Exec("nonsense") },
		"Count: ":                 func(k *consumertest.Kit) { k.Count("SELECT 'x'") },
		"Redrive: no open":        func(k *consumertest.Kit) { k.Redrive(paid("1")) },
		"NotPublished: 1 events":  func(k *consumertest.Kit) { k.Deliver(paid("1")); k.NotPublished(consumertest.Event{}) },
		"count the effects":       func(k *consumertest.Kit) { k.Deliver(paid("1")); k.AppliedOnce(paid("1"), "SELECT nothing") },
		"wire process 1: no such": nil,
	} {
		says(t, failure(func(t testing.TB) {
			if test == nil {
				k := consumertest.New(t, consumertest.SQLite(), func(*consumertest.Process) (*consumer.Consumer, error) {
					return nil, errors.New("no such configuration")
				})
				k.Deliver(paid("1"))
				return
			}
			test(kit(t, consumertest.SQLite(), wire))
		}), want)
	}
	says(t, failure(func(t testing.TB) { consumertest.New(t, consumertest.Database{}, wire) }), "use SQLite()")
	says(t, failure(func(t testing.TB) { consumertest.New(t, consumertest.SQLite(), nil) }), "the Wire is nil")
	says(t, failure(func(t testing.TB) { consumertest.New(t, consumertest.Postgres("postgres://%zz"), wire) }), "DSN cannot be read")
}
