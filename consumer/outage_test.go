package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/memsource"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// failing is a store that fails on command. A real database does not lose the answer
// to the one COMMIT that a test means; everything else is the real store.
type failing struct {
	store.Store
	down     atomic.Bool  // no transaction, no commit, no ping
	swallow  atomic.Int64 // so many commits happen and are not answered
	refuse   atomic.Int64 // so many commits do not happen and are not answered
	commits  atomic.Int64
	pings    atomic.Int64
	unknowns atomic.Int64
}

func (f *failing) Begin(ctx context.Context) (*txn.Txn, error) {
	if f.down.Load() {
		return nil, fmt.Errorf("no database: %w", io.ErrUnexpectedEOF)
	}
	return f.Store.Begin(ctx)
}

func (f *failing) Ping(ctx context.Context) error {
	f.pings.Add(1)
	if f.down.Load() {
		return fmt.Errorf("no database: %w", io.ErrUnexpectedEOF)
	}
	return f.Store.Ping(ctx)
}

func (f *failing) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	f.commits.Add(1)
	if f.down.Load() {
		t.Rollback()
		return fmt.Errorf("no database: %w", io.ErrUnexpectedEOF)
	}
	if f.refuse.Add(-1) >= 0 {
		f.unknowns.Add(1)
		t.Rollback()
		return fmt.Errorf("%w: %w", txn.ErrCommitUnknown, io.ErrUnexpectedEOF)
	}
	err := f.Store.Commit(ctx, t, events)
	if err == nil && f.swallow.Add(-1) >= 0 {
		f.unknowns.Add(1)
		return fmt.Errorf("%w: %w", txn.ErrCommitUnknown, io.ErrUnexpectedEOF)
	}
	return err
}

func (b *bundle) failing() *failing {
	f := &failing{Store: b.st}
	b.st = f
	return f
}

// Check makes the decorated store a store.Checker.
func (f *failing) Check(ctx context.Context) (store.Report, error) {
	return f.Store.(store.Checker).Check(ctx)
}

// COMMIT, fault 15: after an unknown outcome the group is claimed again; what had
// committed is acknowledged, what had not is applied, and either way once.
//
//evidence:unknown
func TestUnknownCommit(t *testing.T) {
	for _, happened := range []bool{true, false} {
		t.Run(fmt.Sprint("happened=", happened), func(t *testing.T) {
			onEachStore(t, func(b *bundle) {
				f := b.failing()
				if happened {
					f.swallow.Store(2)
				} else {
					f.refuse.Store(2)
				}
				c := b.consumer(b.config())
				consumer.Handle(c, topic, insert)
				b.start(c)
				var all []*message.Message
				for n := range 50 {
					all = append(all, b.deliver(fmt.Sprint("m", n), `{}`))
				}
				b.acked(all...)
				if got := b.count("SELECT count(*) FROM effects"); got != 50 {
					b.Errorf("%d effects of 50", got)
				}
				if f.unknowns.Load() == 0 {
					b.Error("each commit had its answer")
				}
				if s := c.Stats(); s.Applied != 50 || s.FailedRuns != 0 {
					b.Errorf("stats %+v", s)
				}
			})
		})
	}
}

// The same for failed messages, and for the backlog.
//
//evidence:unknown
func TestUnknownCommitOfFailures(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		f := b.failing()
		var r runs
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			n := r.next(m.ID)
			f.swallow.Store(1)
			if n < 3 || m.ID == "dead" {
				return errBoom
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		b.eventually("it ends", func() bool { s := b.state("m"); return s == inbox.Done || s == inbox.Dead })
		b.acked(b.deliver("dead", `{}`))
		b.eventually("the other is dead", func() bool { return b.state("dead") == inbox.Dead })
		f.swallow.Store(0)
		if b.effects("m") > 1 || b.state("m") == inbox.Done && b.effects("m") != 1 {
			b.Errorf("state %q with %d effects", b.state("m"), b.effects("m"))
		}
	})
}

// What is infrastructure: an outage spends no attempt, dead-letters nothing, pauses
// the source and turns Ready red; then everything goes on by itself.
//
//evidence:outage
func TestOutageHoldsMessages(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		f := b.failing()
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		b.acked(b.deliver("before", `{}`))
		b.eventually("ready", func() bool { return c.Ready() == nil })
		f.down.Store(true)
		during := b.deliver("during", `{}`)
		b.eventually("not ready", func() bool { return c.Ready() != nil })
		if err := c.Alive(); err != nil {
			b.Errorf("an outage is no reason to restart: %v", err)
		}
		select {
		case <-during.Acked():
			b.Error("acknowledged during the outage")
		case <-during.Nacked():
			b.Error("given back during the outage")
		default:
		}
		f.down.Store(false)
		b.acked(during, b.deliver("after", `{}`))
		b.eventually("ready again", func() bool { return c.Ready() == nil })
		if n := len(b.attempts("during")); n != 0 {
			b.Errorf("%d attempts were spent on an outage", n)
		}
	})
}

// What is infrastructure, fault 14: backends terminated again and again; messages
// are applied once, and none is dead-lettered.
//
//evidence:lost-connection
func TestTerminatedBackends(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, insert)
	b.start(c)
	ctx, cancel := context.WithCancel(b.Context())
	var killed atomic.Int64
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		b.terminate(ctx, c, &killed)
	}()
	want := 0
	for round := 0; round < 20 || killed.Load() < 5; round++ {
		var all []*message.Message
		for n := range 50 {
			all = append(all, b.deliver(fmt.Sprintf("m%d-%d", round, n), `{}`))
		}
		b.acked(all...)
		want += len(all)
	}
	cancel()
	<-ended
	b.db.SetMaxIdleConns(-1) // the test asks on no connection that was killed
	b.Cleanup(func() {
		if b.Failed() {
			b.Logf("%d effects of %d, %d messages that wait, %d in the backlog; %+v", b.count("SELECT count(*) FROM effects"), want,
				b.count("SELECT count(*) FROM headrace_inbox WHERE state = 'waiting'"), b.count("SELECT count(*) FROM headrace_backlog"), c.Stats())
		}
	})
	b.eventually("all are applied", func() bool { return b.count("SELECT count(*) FROM effects") == want })
	if s := c.Stats(); s.Dead != 0 || s.BacklogDead != 0 {
		b.Errorf("an outage dead-lettered messages: %+v", s)
	}
}

// terminate kills the backends of this test's schema until ctx ends, and counts them. In between c applies
// something, however slow the machine is: a message that meets nine kills in a row is rightly a dead letter.
func (b *bundle) terminate(ctx context.Context, c *consumer.Consumer, killed *atomic.Int64) {
	applied := func() int64 { s := c.Stats(); return s.Applied + s.BacklogApplied }
	for ctx.Err() == nil {
		before := applied()
		var n int64
		err := b.db.QueryRowContext(ctx, `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
			WHERE pid <> pg_backend_pid() AND application_name = current_setting('application_name')
			AND query LIKE '%' || current_schema() || '%'`).Scan(&n)
		if err == nil {
			killed.Add(n)
		}
		for sleep.For(ctx, 20*time.Millisecond) && applied() == before {
		}
	}
}

// What is infrastructure: with a healthy store a lost connection is the handler's.
// One that kills its own backend ends as a dead letter, not in a loop.
//
//evidence:lost-connection
func TestHandlerThatKillsItsConnection(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	c := b.consumer(b.config())
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if m.ID == "bad" {
			_, err := tx.ExecContext(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
			return err
		}
		return insert(ctx, tx, m)
	})
	b.start(c)
	b.acked(b.deliver("bad", `{}`), b.deliver("good", `{}`))
	b.eventually("it is dead", func() bool { return b.state("bad") == inbox.Dead })
	if n := len(b.attempts("bad")); n != quick.MaxAttempts {
		b.Errorf("%d attempts", n)
	}
}

// Trap: one ended subscription is silent in Watermill's Router.
//
//evidence:subscription
func TestEndedSubscriptionIsReported(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		b.acked(b.deliver("m", `{}`))
		_ = b.src.Close()
		if err := b.wait(); !errors.Is(err, consumer.ErrSubscriptionEnded) {
			b.Errorf("Run returned %v", err)
		}
		if c.Ready() == nil || c.Alive() == nil {
			b.Error("still ready or alive")
		}
	})
}

// Trap: Router.Close cancels the contexts of handlers at once. Here what was begun
// finishes, and what was not begun is given back.
//
//evidence:stop
func TestStopDrains(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		inside, goOn := make(chan struct{}), make(chan struct{})
		config := b.config()
		config.Concurrency = 1
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			close(inside)
			<-goOn
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return insert(ctx, tx, m)
		}, consumer.Alone())
		b.start(c)
		first := b.deliver("begun", `{}`)
		<-inside
		second := b.deliver("queued", `{}`)
		b.eventually("both are taken in", func() bool { return c.Stats().InFlight == 2 })
		b.stop()
		if ok, err := memsource.Outcome(b.Context(), second); ok || err != nil {
			b.Errorf("the queued one: acked %v, %v", ok, err)
		}
		close(goOn)
		b.acked(first)
		if err := b.halt(); err != nil {
			b.Error(err)
		}
		if b.effects("begun") != 1 || b.effects("queued") != 0 || b.state("queued") != "" {
			b.Error("effects do not fit")
		}
	})
}

// Invariant 23: a handler that outlives the drain time is cancelled; its message is
// released, and no attempt is recorded (trap: PoisonQueue poisons at shutdown).
//
//evidence:stop
func TestDrainTimeoutCancels(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		inside := make(chan struct{})
		config := b.config()
		config.DrainTimeout = 20 * time.Millisecond
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, _ *headrace.Tx, _ *headrace.Message[body]) error {
			close(inside)
			<-ctx.Done()
			return ctx.Err()
		})
		b.start(c)
		m := b.deliver("m", `{}`)
		<-inside
		if err := b.halt(); err != nil {
			b.Errorf("Run returned %v", err)
		}
		if ok, err := memsource.Outcome(b.Context(), m); ok || err != nil {
			b.Errorf("acked %v, %v", ok, err)
		}
		if b.state("m") != "" || len(b.attempts("m")) != 0 {
			b.Errorf("state %q, %d attempts", b.state("m"), len(b.attempts("m")))
		}
	})
}

// What is infrastructure: a handler's deadline comes back from the driver as a lost
// connection or a cancelled statement; it is a timeout, and each run an attempt.
//
//evidence:deadline
func TestHandlerDeadlineIsAnAttempt(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	var r runs
	c := b.consumer(b.config())
	consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		r.next(m.ID)
		_, err := tx.ExecContext(ctx, "SELECT pg_sleep(60)")
		return err
	}, consumer.Timeout(50*time.Millisecond))
	b.start(c)
	b.acked(b.deliver("m", `{}`))
	b.eventually("it is dead", func() bool { return b.state("m") == inbox.Dead })
	attempts := b.attempts("m")
	if len(attempts) != quick.MaxAttempts || r.of("m") != quick.MaxAttempts {
		b.Errorf("%d attempts, %d runs", len(attempts), r.of("m"))
	}
	for _, a := range attempts {
		if a.Class != string(retry.Timeout) {
			b.Errorf("attempt %d is of class %q: %s", a.N, a.Class, a.Error)
		}
	}
}
