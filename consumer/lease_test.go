package consumer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// effectsOf returns what a leased handler commits.
func effectsOf(m *headrace.Message[body]) headrace.Effects {
	return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m) }
}

func (b *bundle) depth() (ready, leased int64) {
	b.Helper()
	d, err := b.st.Backlog().Depth(b.Context(), "test")
	if err != nil {
		b.Fatal(err)
	}
	return d.Ready + d.Delayed + d.Blocked, d.Leased
}

// DESIGN §3 Leases: the message is off the broker before the work begins, and its
// effects and events are there once.
//
//evidence:lease
func TestLeasedIsAppliedOnce(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		release := make(chan struct{})
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			<-release
			return func(ctx context.Context, tx *headrace.Tx) error {
				if err := insert(ctx, tx, m); err != nil {
					return err
				}
				return tx.Publish(headrace.Event{Topic: "done", Payload: []byte("x")})
			}, nil
		})
		b.start(c)
		b.acked(b.deliver("a", `{"n":1}`), b.deliver("b", `{"n":2}`))
		b.acked(b.deliver("a", `{"n":1}`)) // a duplicate while it waits
		if s := b.state("a"); s != inbox.Waiting {
			b.Errorf("state %q while it is worked on", s)
		}
		close(release)
		b.eventually("both applied", func() bool { return c.Stats().BacklogApplied == 2 })
		b.acked(b.deliver("a", `{"n":1}`)) // and one after it
		if n := b.effects("a") + b.effects("b"); n != 2 {
			b.Errorf("%d effects", n)
		}
		if n := b.count("SELECT count(*) FROM headrace_outbox"); n != 2 {
			b.Errorf("%d events", n)
		}
		if waits, leased := b.depth(); waits+leased != 0 {
			b.Errorf("%d rows left", waits+leased)
		}
	})
}

// Failures of the work and of its effects are attempts, and follow the policy.
func TestLeasedFailures(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		var ran runs
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			n := ran.next(m.ID)
			switch {
			case m.ID == "permanent":
				return nil, retry.Permanent(errBoom)
			case m.ID == "panic" && n == 1:
				panic("boom")
			case m.ID == "hopeless", m.ID == "once" && n == 1:
				return nil, errBoom
			case m.ID == "after" && n == 1:
				return nil, retry.After(0, errBoom)
			case m.ID == "stale":
				return nil, inbox.ErrStale
			case m.ID == "nothing":
				return nil, nil
			case m.ID == "effects" && n == 1:
				return func(context.Context, *headrace.Tx) error { return errBoom }, nil
			case m.ID == "timeout" && n == 1:
				<-ctx.Done()
				return nil, ctx.Err()
			}
			return effectsOf(m), nil
		}, consumer.Timeout(2*time.Second), consumer.Concurrency(8))
		b.start(c)
		attempts := map[string]int{"permanent": 1, "panic": 1, "hopeless": 3, "once": 1, "after": 1, "stale": 0, "nothing": 0, "effects": 1, "timeout": 1}
		for id := range attempts {
			b.acked(b.deliver(id, `{"n":1}`))
		}
		b.acked(b.deliver("bad", `{`)) // no handler can be given it: a letter at once
		b.eventually("all ended", func() bool {
			s := c.Stats()
			return s.BacklogApplied == 6 && s.BacklogDead == 2 && s.BacklogStale == 1
		})
		for id, want := range attempts {
			if n := len(b.attempts(id)); n != want {
				b.Errorf("%s: %d attempts, want %d", id, n, want)
			}
		}
		if b.state("permanent") != inbox.Dead || b.state("hopeless") != inbox.Dead || b.state("bad") != inbox.Dead || b.state("stale") != inbox.Done {
			b.Error("states do not fit")
		}
		if a := b.attempts("timeout")[0]; a.Class != string(retry.Timeout) {
			b.Errorf("class of the timeout is %q", a.Class)
		}
	})
}

// The key's later rows are not ready meanwhile: also where the first is tried again.
//
//evidence:lease-order
func TestLeasedKeepsOrder(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.OrderKey = func(d *headrace.Delivery) string { return d.ID[:1] }
		c := b.consumer(config)
		var mu sync.Mutex
		var seen []string
		working := make(map[string]bool)
		var ran runs
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			mu.Lock()
			if working[m.OrderKey] {
				b.Errorf("two of order key %s at once", m.OrderKey)
			}
			working[m.OrderKey] = true
			mu.Unlock()
			defer func() { mu.Lock(); working[m.OrderKey] = false; mu.Unlock() }()
			if n := ran.next(m.ID); strings.HasSuffix(m.ID, "1") && n < 3 {
				return nil, errBoom
			}
			return func(ctx context.Context, tx *headrace.Tx) error {
				mu.Lock()
				seen = append(seen, m.ID)
				mu.Unlock()
				return insert(ctx, tx, m)
			}, nil
		}, consumer.Concurrency(8))
		b.start(c)
		for n := range 5 {
			for _, key := range []string{"x", "y"} {
				b.acked(b.deliver(fmt.Sprint(key, n), `{"n":1}`))
			}
		}
		b.eventually("all applied", func() bool { return c.Stats().BacklogApplied == 10 })
		for _, key := range []string{"x", "y"} {
			of := slices.DeleteFunc(slices.Clone(seen), func(id string) bool { return id[:1] != key })
			if !slices.IsSorted(of) || len(of) != 5 {
				b.Errorf("order of %s: %v", key, of)
			}
		}
	})
}

// A leased handler whose slots are all taken holds up no other handler.
//
//evidence:lease-apart
func TestLeasedDelaysNoOther(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		release := make(chan struct{})
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			<-release
			return effectsOf(m), nil
		}, consumer.Concurrency(1))
		consumer.Handle(c, "quick", insert, consumer.Intake())
		b.start(c)
		for n := range 40 {
			b.acked(b.deliver(fmt.Sprint("slow-", n), `{"n":1}`))
		}
		for n := range 40 {
			b.acked(b.src.Deliver("quick", fmt.Sprint("quick-", n), []byte(`{"n":1}`), nil))
		}
		b.eventually("the others applied", func() bool { return c.Stats().BacklogApplied == 40 })
		close(release)
		b.eventually("all applied", func() bool { return c.Stats().BacklogApplied == 80 })
	})
}

// At the end of its drain time a consumer cancels the work, and gives its leases back
// at no attempt's cost: the next one takes them at once.
//
//evidence:lease-stop
func TestLeasedStop(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.DrainTimeout = 50 * time.Millisecond
		c := b.consumer(config)
		begun := make(chan struct{}, 8)
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		}, consumer.Concurrency(2), consumer.Lease(time.Hour))
		b.start(c)
		b.acked(b.deliver("a", `{"n":1}`), b.deliver("b", `{"n":1}`), b.deliver("c", `{"n":1}`))
		<-begun
		<-begun
		if err := b.halt(); err != nil {
			b.Errorf("Run: %v", err)
		}
		if waits, leased := b.depth(); waits != 3 || leased != 0 {
			b.Errorf("%d rows wait and %d are leased after the stop", waits, leased)
		}
		if n := len(b.attempts("a")) + len(b.attempts("b")); n != 0 {
			b.Errorf("%d attempts", n)
		}
		next := b.consumer(b.config())
		consumer.HandleLeased(next, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			return effectsOf(m), nil
		})
		b.start(next)
		b.eventually("all applied", func() bool { return next.Stats().BacklogApplied == 3 })
		if n := b.count("SELECT count(*) FROM headrace_attempts"); n != 0 {
			b.Errorf("%d attempts", n)
		}
	})
}

// A handler that was leased once and is not any more finds its rows.
//
//evidence:strict-off
func TestLeasedNoMore(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.DrainTimeout = time.Millisecond
		c := b.consumer(config)
		begun := make(chan struct{}, 1)
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			begun <- struct{}{}
			<-ctx.Done()
			return nil, ctx.Err()
		})
		b.start(c)
		b.acked(b.deliver("a", `{"n":1}`))
		<-begun
		_ = b.halt()
		next := b.consumer(b.config())
		consumer.Handle(next, topic, insert)
		b.start(next)
		b.eventually("applied", func() bool { return b.effects("a") == 1 })
	})
}

// A handler that ignores its context is told of, keeps its slot, and what it returns
// changes nothing.
func TestLeasedStuck(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	c := b.consumer(b.config())
	release, returned := make(chan struct{}), make(chan struct{})
	consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
		if m.ID == "stuck" {
			<-release
			defer close(returned)
		}
		return effectsOf(m), nil
	}, consumer.Timeout(time.Millisecond), consumer.Concurrency(1), consumer.Retry(retry.Policy{MaxAttempts: 1}))
	b.start(c)
	b.acked(b.deliver("stuck", `{"n":1}`))
	b.eventually("given up", func() bool { return c.Stats().BacklogDead == 1 })
	if err := c.Ready(); err == nil {
		b.Log("ready although a slot is stuck") // other groups may run
	}
	b.acked(b.deliver("next", `{"n":1}`))
	if s := b.state("next"); s != inbox.Waiting {
		b.Errorf("the slot was given to another: %s", s)
	}
	close(release)
	<-returned
	b.eventually("the slot is free", func() bool { return b.state("next") != inbox.Waiting })
	if n := b.effects("stuck"); n != 0 {
		b.Errorf("%d effects of what was left behind", n)
	}
}

func TestLeaseOptions(t *testing.T) {
	b := setupSQLite(t)
	for want, register := range map[string]func(*consumer.Consumer){
		"Lease(1ms)": func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, func(context.Context, *headrace.Message[body]) (headrace.Effects, error) { return nil, nil }, consumer.Lease(time.Millisecond))
		},
		"Concurrency(-1)": func(c *consumer.Consumer) {
			consumer.HandleLeased(c, topic, func(context.Context, *headrace.Message[body]) (headrace.Effects, error) { return nil, nil }, consumer.Concurrency(-1))
		},
		"HandleLeased":        func(c *consumer.Consumer) { consumer.Handle(c, topic, insert, consumer.Lease(time.Minute)) },
		"the function is nil": func(c *consumer.Consumer) { consumer.HandleLeased[body](c, topic, nil) },
	} {
		c := b.consumer(b.config())
		register(c)
		if err := c.Run(b.Context()); err == nil || !strings.Contains(err.Error(), want) {
			b.Errorf("%s: %v", want, err)
		}
	}
}

// Slow work holds no connection: eight at once with a pool of two.
//
//evidence:lease-apart
func TestLeasedHoldsNoConnection(t *testing.T) {
	t.Parallel()
	b := setupPostgres(t)
	b.db.SetMaxOpenConns(2)
	config := b.config()
	config.Concurrency = 8
	c := b.consumer(config)
	begun, release := make(chan struct{}, 8), make(chan struct{})
	consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
		begun <- struct{}{}
		select {
		case <-release:
		case <-ctx.Done():
		}
		return effectsOf(m), ctx.Err()
	})
	b.start(c)
	for n := range 8 {
		b.acked(b.deliver(fmt.Sprint("m", n), `{"n":1}`))
	}
	for range 8 {
		<-begun
	}
	close(release)
	b.eventually("all applied", func() bool { return c.Stats().BacklogApplied == 8 })
}

// Intake acknowledges what the backlog has, and leaves a handler what it may be: alone,
// for batches, retried.
//
//evidence:intake
func TestIntake(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		var ran runs
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if ran.next(m.ID) == 1 && m.Body.N == 0 {
				return errBoom
			}
			return insert(ctx, tx, m)
		}, consumer.Intake(), consumer.Alone())
		consumer.HandleBatch(c, "many", func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
			for _, m := range ms {
				if err := insert(ctx, tx, m); err != nil {
					return err
				}
			}
			return nil
		}, consumer.Intake())
		b.start(c)
		for n := range 20 {
			b.acked(b.deliver(fmt.Sprint("m", n), fmt.Sprintf(`{"n":%d}`, n%5)), b.src.Deliver("many", fmt.Sprint("many", n), []byte(`{"n":1}`), nil))
		}
		b.acked(b.deliver("m7", `{"n":2}`)) // a duplicate
		b.acked(b.deliver("m7", `{"n":9}`)) // a conflict
		b.acked(b.deliver("bad", `{`))
		b.eventually("all applied", func() bool { return c.Stats().BacklogApplied == 40 })
		if s := c.Stats(); s.Waiting != 40 || s.Applied != 0 || s.Duplicates != 1 || s.Conflicts != 1 || s.Dead != 1 {
			b.Errorf("stats %+v", s)
		}
		if n := b.count("SELECT count(*) FROM effects"); n != 40 {
			b.Errorf("%d effects", n)
		}
	})
}
