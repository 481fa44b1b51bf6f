package consumer_test

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// Group commit: statements that end the transaction are refused, and a swallowed
// refusal still fails the message.
//
//evidence:transaction
func TestHandlerCannotEndItsTransaction(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == "bad" {
				_, _ = tx.ExecContext(ctx, "/* done */ COMMIT")
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("good", `{}`), b.deliver("bad", `{}`))
		b.eventually("it is dead", func() bool { return b.state("bad") == inbox.Dead })
		if b.effects("good") != 1 || b.effects("bad") != 0 {
			b.Error("effects do not fit")
		}
	})
}

// endTransaction ends the handler's transaction behind our back.
func endTransaction(ctx context.Context, tx *headrace.Tx) error {
	raw, err := tx.SQL()
	if err != nil {
		return err
	}
	for _, statement := range []string{"COMMIT", "BEGIN"} {
		if _, err := raw.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	return nil
}

// Group commit: a transaction that was ended behind our back stops the consumer with
// an error that names the handler.
//
//evidence:transaction
func TestSwitchedTransactionStopsTheConsumer(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(ctx context.Context, tx *headrace.Tx) error{
		"statements": endTransaction,
		"Commit": func(_ context.Context, tx *headrace.Tx) error {
			raw, err := tx.SQL()
			return errors.Join(err, raw.Commit())
		},
		"Rollback": func(_ context.Context, tx *headrace.Tx) error {
			raw, err := tx.SQL()
			return errors.Join(err, raw.Rollback())
		},
		"Commit, and an error": func(_ context.Context, tx *headrace.Tx) error {
			raw, err := tx.SQL()
			return errors.Join(err, raw.Commit(), errBoom)
		},
		"statements, and an error": func(ctx context.Context, tx *headrace.Tx) error {
			return errors.Join(endTransaction(ctx, tx), errBoom)
		},
		"statements, and the end of the goroutine": func(ctx context.Context, tx *headrace.Tx) error {
			if err := endTransaction(ctx, tx); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		},
		"Commit, and the end of the goroutine": func(_ context.Context, tx *headrace.Tx) error {
			raw, err := tx.SQL()
			if err := errors.Join(err, raw.Commit()); err != nil {
				return err
			}
			runtime.Goexit()
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := setupPostgres(t)
			c := b.consumer(b.config())
			consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, _ *headrace.Message[body]) error {
				return end(ctx, tx)
			}, consumer.Alone())
			b.start(c)
			m := b.deliver("m", `{}`)
			err := b.wait()
			if !errors.Is(err, inbox.ErrSwitched) || !strings.Contains(err.Error(), "test/"+topic) {
				b.Errorf("Run returned %v", err)
			}
			select {
			case <-m.Acked():
				b.Error("the message was acknowledged")
			default:
			}
		})
	}
}

// SQLite goes further: its commit hook refuses a handler's COMMIT.
//
//evidence:transaction
func TestSQLiteRefusesTheHandlersCommit(t *testing.T) {
	b := setupSQLite(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if err := insert(ctx, tx, m); err != nil {
			return err
		}
		return endTransaction(ctx, tx)
	}, consumer.Alone())
	b.start(c)
	b.acked(b.deliver("m", `{}`))
	b.eventually("it is dead", func() bool { return b.state("m") == inbox.Dead })
	if b.effects("m") != 0 {
		b.Error("the handler's COMMIT went through")
	}
}

// Raw and SQL are for Alone handlers only.
//
//evidence:session
func TestGroupedHandlerHasNoRawTransaction(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		got := make(chan error, 2)
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, _ *headrace.Message[body]) error {
			_, err := tx.SQL()
			got <- err
			got <- tx.Raw(func(any) error { return nil })
			return nil
		})
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		for range 2 {
			if err := <-got; !errors.Is(err, headrace.ErrNotAlone) {
				b.Errorf("got %v", err)
			}
		}
	})
}

// Raw gives the driver's own connection, which the driver's functions take.
//
//evidence:session
func TestRawGivesTheDriversConnection(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			err := tx.Raw(func(conn any) error {
				if _, wrapped := conn.(interface{ Unwrap() driver.Conn }); wrapped {
					return fmt.Errorf("a %T", conn)
				}
				return nil
			})
			return errors.Join(err, insert(ctx, tx, m))
		}, consumer.Alone())
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		b.eventually("it is applied", func() bool { return b.effects("m") == 1 })
	})
}

// A Tx that is kept after the return is of no use (fault 8).
func TestTxIsClosedAfterTheHandler(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		kept := make(chan *headrace.Tx, 1)
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(_ context.Context, tx *headrace.Tx, _ *headrace.Message[body]) error {
			kept <- tx
			return nil
		})
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		tx := <-kept
		if _, err := tx.ExecContext(b.Context(), "INSERT INTO effects (msg) VALUES ('late')"); !errors.Is(err, headrace.ErrTxDone) {
			b.Errorf("exec: %v", err)
		}
		if err := tx.Publish(headrace.Event{Topic: "t", Value: 1}); !errors.Is(err, headrace.ErrTxDone) {
			b.Errorf("publish: %v", err)
		}
	})
}

// Fault 9: a failed statement whose error is swallowed aborts the transaction on
// PostgreSQL; the message must not be done, and its neighbours must be.
//
//evidence:passed-over
func TestSwallowedErrorIsNotDone(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.ID == "bad" {
			_, _ = tx.ExecContext(ctx, "SELECT 1/0")
			return nil
		}
		return insert(ctx, tx, m)
	})
	all := []*message.Message{b.deliver("bad", `{}`)}
	for n := range 20 {
		all = append(all, b.deliver(fmt.Sprint("m", n), `{}`))
	}
	b.start(c)
	b.acked(all...)
	b.eventually("it is dead", func() bool { return b.state("bad") == inbox.Dead })
	if got := b.count("SELECT count(*) FROM effects"); got != 20 {
		b.Errorf("%d effects of 20 good messages", got)
	}
	if n := b.count("SELECT count(*) FROM headrace_attempts WHERE key <> 'bad'"); n != 0 {
		b.Errorf("neighbours have %d attempts", n)
	}
}

// COMMIT: a deferred constraint fails there; single runs find whom it meant.
//
//evidence:culprit
func TestDeferredConstraintFindsItsCulprit(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	b.exec("ALTER TABLE effects ADD CONSTRAINT once UNIQUE (seq) DEFERRABLE INITIALLY DEFERRED")
	b.exec("INSERT INTO effects (seq, msg) VALUES (7, 'before')")
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert)
	var all []*message.Message
	for n := range 20 {
		all = append(all, b.deliver(fmt.Sprint("m", n), fmt.Sprintf(`{"n":%d}`, n)))
	}
	b.start(c)
	b.acked(all...)
	b.eventually("m7 is dead", func() bool { return b.state("m7") == inbox.Dead })
	if got := b.count("SELECT count(*) FROM effects"); got != 20 {
		b.Errorf("%d effects of 19 good messages and 1 before", got)
	}
	if n := len(b.attempts("m7")); n != 3 {
		b.Errorf("%d attempts of the culprit", n)
	}
	if n := len(b.attempts("m8")); n != 0 {
		b.Errorf("%d attempts of a neighbour", n)
	}
}

// Nested: a part that fails on its own leaves nothing, and the rest counts.
//
//evidence:nested
func TestNested(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error {
				if _, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ('nested')"); err != nil {
					return err
				}
				if err := tx.Publish(headrace.Event{Topic: "t", Value: 1}); err != nil {
					return err
				}
				_, err := tx.ExecContext(ctx, "INSERT INTO no_such_table VALUES (1)")
				return err
			})
			if err == nil {
				return retry.Permanent(errors.New("the nested part did not fail"))
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		if b.effects("m") != 1 || b.effects("nested") != 0 || len(b.letters(dlq.Filter{})) != 0 {
			b.Errorf("%d effects, %d nested", b.effects("m"), b.effects("nested"))
		}
		status, err := b.st.Outbox().Status(b.Context())
		if err != nil || status.Ready != 0 {
			b.Errorf("outbox %+v %v", status, err)
		}
	})
}

// Trap PoisonQueue publishes the message as the handler changed it: each run has a
// body of its own, and the letter holds the bytes as they came.
//
//evidence:bytes
func TestRunsDoNotSeeEachOthersChanges(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var r runs
		config := b.config()
		config.Concurrency = 1
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[map[string]any]) error {
			if m.Body["changed"] != nil {
				r.next("saw a change")
			}
			m.Body["changed"] = true
			if r.next(m.ID); strings.HasPrefix(m.ID, "m") {
				_, err := tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES ('m')")
				return errors.Join(errBoom, err)
			}
			return nil
		})
		// Those of m's batch run again because of m. On a slow machine m may be alone in its batch.
		again := 0
		for round := 0; again == 0 && round < 20; round++ {
			name := func(n int) string { return fmt.Sprint("before", round, "-", n) }
			dead := fmt.Sprint("m", round)
			var all []*message.Message
			for n := range 20 {
				all = append(all, b.deliver(name(n), `{"n":0}`))
			}
			all = append(all, b.deliver(dead, `{"n":1}`))
			if round == 0 {
				b.start(c)
			}
			b.acked(all...)
			b.eventually("it is dead", func() bool { return b.state(dead) == inbox.Dead })
			for n := range 20 {
				if r.of(name(n)) == 2 {
					again++
				}
			}
		}
		if again == 0 {
			b.Error("none of its neighbours ran again")
		}
		if r.of("saw a change") > 0 {
			b.Error("a run saw what another one changed")
		}
		letters := b.letters(dlq.Filter{})
		full, err := b.st.Letters().Get(b.Context(), letters[0].LetterID)
		if err != nil || string(full.Delivery.Payload) != `{"n":1}` {
			b.Errorf("letter %q %v", full.Delivery.Payload, err)
		}
	})
}
