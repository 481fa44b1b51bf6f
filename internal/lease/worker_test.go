package lease_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/lease"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
)

// Each message is worked on once, no more at a time than there are slots, and what its
// work returned is committed.
func TestWork(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		var at, most atomic.Int64
		h := worked(func(context.Context, task.Input) (headrace.Effects, error) {
			if n := at.Add(1); n > most.Load() {
				most.Store(n)
			}
			defer at.Add(-1)
			return nil, nil
		})
		keys := enginetest.Keys("m", 12)
		p := newProcess(f, h, keys...)
		work := h.Leased.Work
		h.Leased.Work = func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			runs.Next(in.Delivery.Key)
			return work(ctx, in)
		}
		p.run(nil)
		for _, key := range keys {
			p.state(key, inbox.Done)
		}
		p.end()
		f.AppliedOnce(h, keys...)
		if len(runs.Order()) != len(keys) || most.Load() > 2 {
			f.Errorf("%d runs, %d at a time", len(runs.Order()), most.Load())
		}
		if d := depth(f); d != (backlog.Depth{}) {
			f.Errorf("left: %+v", d)
		}
	})
}

// How work may end, apart from well: each is an attempt, a postponement or a letter, as in
// a transaction.
func TestWorkThatFails(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		h := worked(func(_ context.Context, in task.Input) (headrace.Effects, error) {
			switch in.Delivery.Key {
			case "error":
				return nil, enginetest.ErrBoom
			case "panic":
				panic("boom")
			case "later":
				return nil, retry.Postpone(time.Hour, enginetest.ErrBoom)
			case "effects":
				return func(context.Context, *headrace.Tx) error { return enginetest.ErrBoom }, nil
			}
			return nil, nil
		})
		h.Decode = func(d *headrace.Delivery) (any, error) {
			if d.Key == "undecodable" {
				return nil, errors.New("no JSON")
			}
			return nil, nil
		}
		p := newProcess(f, h, "error", "panic", "later", "effects", "undecodable", "well")
		p.run(nil)
		for key, class := range map[string]dlq.Class{
			"error": dlq.Exhausted, "panic": dlq.Exhausted, "effects": dlq.Exhausted, "undecodable": dlq.Undecodable,
		} {
			p.state(key, inbox.Dead)
			if !slices.ContainsFunc(f.Letters(), func(l dlq.Letter) bool { return l.Delivery.Key == key && l.Class == class }) {
				f.Errorf("%s has no letter of class %s", key, class)
			}
		}
		p.state("well", inbox.Done)
		f.Eventually("one is postponed", func() bool { return depth(f) == backlog.Depth{Delayed: 1, Postponed: 1} })
		if n := f.Count("SELECT count(*) FROM effects"); n != 1 {
			f.Errorf("%d effects", n)
		}
	})
}

// A lease is extended while its message is worked on: no other worker takes it over.
func TestLeaseIsExtended(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, release := make(started, 10), make(chan struct{})
		h := worked(func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			begun <- in.Delivery.Key
			select {
			case <-release:
			case <-ctx.Done():
				f.Errorf("cancelled: %v", context.Cause(ctx))
			}
			return nil, nil
		})
		h.Leased.Term = 3 * time.Second // a loaded machine must beat it
		p := newProcess(f, h, "m")
		p.run(nil)
		begun.await(f)
		f.Eventually("the lease outlasts its term", func() bool { return p.store.extends.Load() > 3 })
		other := process{Engine: f.Engine(nil), h: h}
		if found, next, err := f.Store.Backlog().Leases.Look(f.Context(), h.Consumer, h.Name); found || next <= 0 || err != nil {
			f.Errorf("found %t, next %s, %v", found, next, err)
		}
		if tasks := other.Lease(h, 10); len(tasks) != 0 {
			f.Error("another process took it over")
		}
		close(release)
		p.state("m", inbox.Done)
		p.end()
		f.AppliedOnce(h, "m")
	})
}

// Where leases cannot be extended, our own clock ends the work at the end of the lease,
// and what it returns is dropped; the next who holds the lease applies it.
func TestLeaseThatCannotBeExtended(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, causes := make(started, 10), make(chan error, 10)
		var frozen atomic.Bool
		frozen.Store(true)
		h := worked(func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			begun <- in.Delivery.Key
			if frozen.Load() {
				<-ctx.Done()
				causes <- context.Cause(ctx)
				return nil, ctx.Err()
			}
			return nil, nil
		})
		h.Leased.Term = 600 * time.Millisecond
		h.Policy = enginetest.Attempts(5)
		p := newProcess(f, h, "m")
		p.store.frozen.Store(true)
		p.run(nil)
		begun.await(f)
		if err := <-causes; !errors.Is(err, outcome.ErrLeaseLost) {
			f.Errorf("cause %v", err)
		}
		frozen.Store(false)
		p.store.frozen.Store(false)
		f.Eventually("it is applied", func() bool { // given back, or lost where that took too long
			p.Round(p.Engine.Worker(h))
			return f.State(h, "m") == inbox.Done
		})
		if n := f.Effects("m"); n != 1 {
			f.Errorf("%d effects", n)
		}
	})
}

// The effects of work are committed by the one whose lease holds: here another process
// takes the lease over between the end of the work and the commit.
func TestTakeOverBeforeTheCommit(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		h := worked(func(_ context.Context, in task.Input) (headrace.Effects, error) {
			runs.Next(in.Delivery.Key)
			return nil, nil
		})
		h.Leased.Slots = 1 // its own process does not take it over
		p := newProcess(f, h, "m")
		other := &process{Engine: f.Engine(nil), h: h}
		var theirs []*task.Task
		taken := make(chan struct{})
		takeOver := func() {
			defer close(taken)
			endLeases(f)
			theirs = other.Lease(h, 1)
		}
		if f.SQLite { // the fence's transaction has the one write lock: before it begins
			h.Leased.Work = func(_ context.Context, in task.Input) (headrace.Effects, error) {
				takeOver()
				return func(ctx context.Context, tx *headrace.Tx) error { return enginetest.Effect(ctx, tx, in) }, nil
			}
		} else {
			p.store.beforeFence.Store(&takeOver)
		}
		p.run(nil)
		<-taken
		f.Eventually("the first is told that it was too late", func() bool { return len(p.Outcomes("m")) == 1 })
		if o := p.Outcomes("m"); o[0] != task.Duplicate || f.Effects("m") != 0 || f.State(h, "m") != inbox.Waiting {
			f.Errorf("outcomes %v, %d effects, state %q", o, f.Effects("m"), f.State(h, "m"))
		}
		p.end()
		if len(theirs) != 1 || !theirs[0].Item.Lost {
			f.Fatalf("taken over: %+v", theirs)
		}
		one := theirs[0]
		one.Effects = func(ctx context.Context, tx *headrace.Tx) error { return enginetest.Effect(ctx, tx, one.Input()) }
		if !other.Finish(one, nil) {
			f.Error("not finished")
		}
		f.AppliedOnce(h, "m")
	})
}

// A lease that another process has by now cancels the work with the next look, before our
// own clock does, and nothing is given back that is another's.
func TestLeaseOfAnother(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, cause := make(started, 10), make(chan error, 1)
		h := worked(func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			begun <- in.Delivery.Key
			<-ctx.Done()
			cause <- context.Cause(ctx)
			return nil, ctx.Err()
		})
		h.Leased.Slots, h.Leased.Term = 1, 9*time.Second
		p := newProcess(f, h, "m")
		p.store.frozen.Store(true)
		start := time.Now()
		p.run(nil)
		begun.await(f)
		endLeases(f)
		other := &process{Engine: f.Engine(nil), h: h}
		theirs := other.Lease(h, 1)
		p.store.frozen.Store(false)
		if err := <-cause; !errors.Is(err, outcome.ErrLeaseLost) || time.Since(start) > 8*time.Second {
			f.Errorf("cause %v after %s", err, time.Since(start))
		}
		p.end()
		theirs[0].Effects = func(ctx context.Context, tx *headrace.Tx) error { return enginetest.Effect(ctx, tx, theirs[0].Input()) }
		other.Finish(theirs[0], nil)
		f.AppliedOnce(h, "m")
	})
}

// loseLease has a process lease the one message of h, and die; the next one records it.
func loseLease(f *enginetest.Fixture, h *task.Handler, key string, n int) {
	f.Helper()
	dead := &process{Engine: f.Engine(nil), h: h}
	if tasks := dead.Lease(h, 1); len(tasks) != 1 || tasks[0].Delivery.Key != key {
		f.Fatalf("leased %v", task.IDs(tasks))
	}
	endLeases(f)
	p := newProcess(f, h)
	p.run(nil)
	f.Eventually(fmt.Sprint("loss ", n, " is recorded"), func() bool { return len(f.Attempts(h, key)) == n })
	p.end()
}

// A lease that was lost with its process is an attempt, recorded once by the next holder;
// three of them make a letter, however few attempts the policy allows.
func TestLostLeases(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		h := worked(func(context.Context, task.Input) (headrace.Effects, error) {
			return nil, errors.New("it is not worked on")
		})
		newProcess(f, h, "m")
		for n := 1; n <= outcome.MaxLost; n++ {
			loseLease(f, h, "m", n)
		}
		for i, a := range f.Attempts(h, "m") {
			if a.Class != string(retry.Lost) || !strings.Contains(a.Error, "lease lost: its process ended") {
				f.Errorf("attempt %d: %+v", i+1, a)
			}
		}
		if l := f.Letters(); len(l) != 1 || l[0].Class != dlq.Crashed || f.State(h, "m") != inbox.Dead {
			f.Errorf("letters %+v", l)
		}
	})
}

// A message that has lost so many leases that the next would be the last is worked on as
// the only one; others wait meanwhile, and it waits until they have ended.
func TestSuspectIsTheOnlyLease(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, release := make(started, 10), make(chan struct{})
		h := worked(func(_ context.Context, in task.Input) (headrace.Effects, error) {
			begun <- in.Delivery.Key
			<-release
			return nil, nil
		})
		newProcess(f, h, "suspect")
		loseLease(f, h, "suspect", 1)
		loseLease(f, h, "suspect", 2)
		p := newProcess(f, h, "other")
		g := &guard{most: 2}
		p.run(func(o *lease.Options) { o.Guard = g })
		if key := begun.await(f); key != "other" {
			f.Fatalf("%s began, and it is not the only one", key)
		}
		f.Eventually("it asks again", func() bool { p.Worker.Wake(); _, asks := g.state(); return asks > 1 })
		g.set(1, true)
		release <- struct{}{}
		if key := begun.await(f); key != "suspect" {
			f.Errorf("%s began", key)
		}
		f.Eventually("one lease is in hand", func() bool { hand, _ := g.state(); return hand == 1 })
		close(release)
		p.state("suspect", inbox.Done)
		p.state("other", inbox.Done)
		p.end()
		if hand, _ := g.state(); hand != 0 {
			f.Errorf("%d leases in hand at the end", hand)
		}
	})
}

// Where the guard gives no lease, nothing is begun; nor while the consumer is paused.
func TestNothingBegins(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		h := worked(func(context.Context, task.Input) (headrace.Effects, error) { return nil, nil })
		var paused atomic.Bool
		var looks atomic.Int64
		paused.Store(true)
		g := &guard{}
		p := newProcess(f, h, "m")
		p.run(func(o *lease.Options) {
			o.Guard = g
			o.Paused = func() bool { looks.Add(1); return paused.Load() }
		})
		f.Eventually("it looks", func() bool { p.Worker.Wake(); return looks.Load() > 3 })
		paused.Store(false)
		before := looks.Load()
		f.Eventually("it asks the guard", func() bool { p.Worker.Wake(); return looks.Load() > before+3 })
		if f.State(h, "m") != inbox.Waiting {
			f.Error("it began")
		}
		g.set(1, false)
		p.state("m", inbox.Done)
		p.end()
		if hand, _ := g.state(); hand != 0 {
			f.Errorf("%d leases in hand", hand)
		}
	})
}

// When the consumer stops, nothing is begun, and what is in hand ends; when its drain time
// is over, work is cancelled and its lease given back, with its start.
func TestStop(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, release := make(started, 10), make(chan struct{})
		h := worked(func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			begun <- in.Delivery.Key
			select {
			case <-release:
				return nil, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		p := newProcess(f, h, "m0", "m1", "m2")
		p.run(nil)
		first, second := begun.await(f), begun.await(f)
		p.Stop()
		release <- struct{}{}
		f.Eventually("one is applied", func() bool { return f.Effects(first)+f.Effects(second) == 1 })
		p.Cut()
		p.end()
		if n := len(begun); n != 0 || f.Count("SELECT count(*) FROM effects") != 1 {
			f.Errorf("%d more began", n)
		}
		if n := f.Count("SELECT count(*) FROM headrace_backlog WHERE status = 'leasable' AND starts = 0 AND token = ''"); n != 2 {
			f.Errorf("%d leases were given back", n)
		}
		if len(p.Failures()) != 0 {
			f.Errorf("failures %+v", p.Failures())
		}
	})
}

// Work that ignores its context is left behind with its slot, and is an attempt; the slot
// is free again when it returns.
func TestWorkLeftBehind(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, release := make(started, 10), make(chan struct{})
		h := worked(func(_ context.Context, in task.Input) (headrace.Effects, error) {
			begun <- in.Delivery.Key
			if in.Delivery.Key == "stuck" {
				<-release
			}
			return nil, nil
		})
		h.Leased.Slots, h.Leased.Timeout = 1, 50*time.Millisecond
		p := newProcess(f, h, "stuck")
		p.run(nil)
		begun.await(f)
		p.state("stuck", inbox.Dead)
		if a := f.Attempts(h, "stuck"); len(a) != 1 || a[0].Class != string(retry.Timeout) {
			f.Errorf("%+v", a)
		}
		p.Put(h, "next")
		p.WorkOff(p.Engine.Worker(h))
		p.Worker.Wake()
		select {
		case key := <-begun:
			f.Errorf("%s has a slot that is taken", key)
		case <-time.After(50 * time.Millisecond):
		}
		close(release)
		p.state("next", inbox.Done)
		p.end()
		if f.Effects("stuck") != 0 {
			f.Error("what it returned was committed")
		}
	})
}

// A claim whose COMMIT had no answer may have happened: the leases are given back, without
// an attempt. While the store is away, nothing is lost either.
func TestClaimWithoutAnAnswer(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		h := worked(func(context.Context, task.Input) (headrace.Effects, error) { return nil, nil })
		p := newProcess(f, h, "m0", "m1", "m2")
		f.Store.Swallow(1)
		p.run(nil)
		for _, key := range []string{"m0", "m1", "m2"} {
			p.state(key, inbox.Done)
		}
		f.Store.Down.Store(true)
		f.Eventually("the circuit opens", func() bool { p.Worker.Wake(); return p.Breaker.Err() != nil })
		f.Store.Down.Store(false)
		f.Eventually("the circuit closes", func() bool { p.Worker.Wake(); return p.Breaker.Err() == nil })
		p.Put(h, "m3")
		p.WorkOff(p.Engine.Worker(h))
		p.state("m3", inbox.Done)
		p.end()
		f.AppliedOnce(h, "m0", "m1", "m2", "m3")
	})
}
