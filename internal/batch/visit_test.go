package batch_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// shardOf is the shard of the rows of order key "k".
var shardOf = shard.Of("k")

// A visit tells the drain what it did: the rows, and the mark up to which none is left.
func TestVisitResult(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		e := f.Engine(func(o *batch.Options) { o.MaxBatch = 4 })
		h := counted("orders", &runs, always("m5"))
		take(e, h, "k", enginetest.Keys("m", 10)...)
		w := e.Worker(h)
		after, rows := int64(0), 0
		for n, want := range []int{4, 4, 2} {
			r, err := w.Work(f.Context(), shardOf, after)
			if err != nil || r.Rows != want || r.More != (n < 2) || r.Skipped || r.Mark <= after {
				f.Errorf("visit %d: %+v, %v", n, r, err)
			}
			after, rows = r.Mark, rows+r.Rows
		}
		if r, err := w.Work(f.Context(), shardOf, after); err != nil || r.Rows != 0 || r.More || rows != 10 {
			f.Errorf("the last: %+v, %v; %d rows", r, err, rows)
		}
		f.AppliedOnce(h, "m0", "m4", "m6", "m9")
		dead(f, h, "m5", retry.Transient)
	})
}

// The mark stops before the first row that is left, whatever was done behind it.
func TestMarkStopsAtWhatIsLeft(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h, alone, slow := counted("orders", new(enginetest.Runs), never), counted("alone", new(enginetest.Runs), never), leasedHandler("slow")
		alone.Alone = true
		take(e, h, "k", "m0")
		take(e, alone, "k", "x0")
		take(e, slow, "k", "s0") // is moved, behind what is left
		w := e.Worker(h, alone, slow)
		r, err := w.Work(f.Context(), shardOf, 0)
		if err != nil || !r.More || f.Effects("m0") != 1 || f.Effects("x0") != 0 {
			f.Fatalf("%+v, %v", r, err)
		}
		if r, err = w.Work(f.Context(), shardOf, r.Mark); err != nil || f.Effects("x0") != 1 {
			f.Errorf("%+v, %v: the row was passed over", r, err)
		}
	})
}

// A shard that another process has is skipped, and nothing is run.
func TestVisitOfABusyShard(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		if f.SQLite {
			f.Skip("SQLite has one writer: a visit waits")
		}
		var runs enginetest.Runs
		e := f.Engine(nil)
		h := counted("orders", &runs, never)
		take(e, h, "k", "m0")
		f.In(func(t *txn.Txn) error {
			if ok, err := f.Store.Backlog().LockShard(f.Context(), t, enginetest.Consumer, shardOf, txn.Limits{}); !ok || err != nil {
				return fmt.Errorf("not locked: %w", err)
			}
			if r, err := e.Worker(h).Work(f.Context(), shardOf, 0); err != nil || !r.Skipped || len(runs.Order()) != 0 {
				f.Errorf("%+v, %v, runs %v", r, err, runs.Order())
			}
			return nil
		})
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, "m0")
	})
}

// The memory of a visit is bound in bytes: rows that do not fit are left to the next one.
// A row that is larger than the bound is read alone.
func TestVisitIsBoundInBytes(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		const bound = 64 << 10
		var inVisit, most int
		e := f.Engine(nil)
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			if inVisit += len(in.Delivery.Payload); inVisit > most {
				most = inVisit
			}
			return enginetest.Effect(ctx, tx, in)
		})
		keys := enginetest.Keys("m", 24)
		for i, key := range keys {
			d := enginetest.Delivery(h, key, "k")
			size := 10 << 10
			if i == 12 {
				size = 3 * bound
			}
			d.Payload = bytes.Repeat([]byte("x"), size)
			e.PutAll(h, d)
		}
		w := batch.NewWorker(e.Processor, batch.WorkerOptions{Consumer: enginetest.Consumer, Handlers: []*task.Handler{h}, Bytes: bound})
		visits, after := 0, int64(0)
		for more := true; more; visits++ {
			inVisit = 0
			r, err := w.Work(f.Context(), shardOf, after)
			if err != nil {
				f.Fatal(err)
			}
			if inVisit > bound && inVisit != 3*bound {
				f.Errorf("a visit read %d bytes", inVisit)
			}
			after, more = r.Mark, r.More
		}
		f.AppliedOnce(h, keys...)
		if visits < 5 || visits > 10 {
			f.Errorf("%d visits", visits)
		}
	})
}

// A row whose message another process has ended is dropped, and spoils nothing for the
// others.
func TestRowThatAnotherProcessEnded(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, always("m1"))
		take(e, h, "k", enginetest.Keys("m", 6)...)
		f.In(func(t *txn.Txn) error { // an older version, or an operator
			_, err := f.Store.Inbox().Transition(f.Context(), t, []inbox.ID{{Scope: h.Scope, Key: "m3"}}, inbox.Waiting, inbox.Done)
			return err
		})
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, "m0", "m2", "m4", "m5")
		dead(f, h, "m1", retry.Transient)
		if runs.Of("m3") != 0 || f.Effects("m3") != 0 || depth(f) != (backlog.Depth{}) {
			f.Errorf("m3: %d runs; depth %+v", runs.Of("m3"), depth(f))
		}
	})
}

// Between two transactions of one visit, another process may deal with some of its rows.
func TestRowsThatGoWhileAVisitRuns(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		other := f.EngineOn(f.Open(), nil)
		h := counted("orders", &runs, never)
		g := &guard{advise: func([]inbox.ID) []batch.Advice { // the rows were read, and are not locked
			other.WorkOff(other.Worker(h))
			return nil
		}}
		e := f.Engine(func(o *batch.Options) { o.Guard = g })
		take(e, h, "k", enginetest.Keys("m", 3)...)
		r, err := e.Worker(h).Work(f.Context(), shardOf, 0)
		if err != nil || r.Rows != 0 {
			f.Errorf("%+v, %v", r, err)
		}
		f.AppliedOnce(h, "m0", "m1", "m2")
		if len(runs.Order()) != 3 {
			f.Errorf("runs %v", runs.Order())
		}
	})
}

// Rows of a handler that is not registered here are passed over, and told of once; those
// of a leased handler are moved to it.
func TestRowsOfOtherHandlers(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var told, leased []string
		e := f.Engine(nil)
		here, gone, slow := counted("here", new(enginetest.Runs), never), counted("gone", new(enginetest.Runs), never), leasedHandler("slow")
		take(e, gone, "k", "g0", "g1")
		take(e, slow, "k", "s0")
		take(e, here, "k", "m0")
		take(e, slow, "k", "s1")
		w := batch.NewWorker(e.Processor, batch.WorkerOptions{
			Consumer: enginetest.Consumer, Handlers: []*task.Handler{here, slow}, Bytes: 1 << 20,
			Unknown: func(name string) { told = append(told, name) }, Leased: func(name string) { leased = append(leased, name) },
		})
		for range 2 {
			if r, err := w.Work(f.Context(), shardOf, 0); err != nil || r.More {
				f.Errorf("%+v, %v", r, err)
			}
		}
		f.AppliedOnce(here, "m0")
		if !slices.Equal(told, []string{"gone"}) || !slices.Equal(leased, []string{"slow"}) {
			f.Errorf("told of %v, leased %v", told, leased)
		}
		if d := depth(f); d.Ready != 4 || f.Count("SELECT count(*) FROM headrace_backlog WHERE status = 'leasable'") != 2 {
			f.Errorf("%+v", d) // those that can be leased are ready too
		}
	})
}

// Rows of a handler that was leased once come back to the ready ones.
func TestRowsOfAHandlerThatIsNotLeasedAnyMore(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		was := leasedHandler("orders")
		e.Put(was, "m0", "m1")
		e.WorkOff(e.Worker(was))
		if e.Worker(was).TidyOnce(f.Context()) || f.Count("SELECT count(*) FROM headrace_backlog WHERE status = 'leasable'") != 2 {
			f.Error("they came back although their handler is leased")
		}
		is := counted("orders", new(enginetest.Runs), never)
		w := e.Worker(is)
		if e.WorkOff(w); f.Effects("m0") != 0 {
			f.Error("a row ran while it waits to be leased")
		}
		done := make(chan struct{})
		go func() { defer close(done); w.Tidy(e.Stopping) }()
		f.Eventually("they are applied", func() bool { e.Round(w); return f.Effects("m0")+f.Effects("m1") == 2 })
		e.Stop()
		<-done
		f.AppliedOnce(is, "m0", "m1")
	})
}

// Poll makes due rows ready, and says when the next one is due.
func TestPoll(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, func(key string, run int) error {
			switch {
			case key == "soon" && run == 1:
				return retry.Postpone(20*time.Millisecond, enginetest.ErrBoom)
			case key == "late" && run == 1:
				return retry.Postpone(time.Hour, enginetest.ErrBoom)
			}
			return nil
		})
		e.Deliver(h, "late")
		w := e.Worker(h)
		p, err := w.Poll(f.Context(), make([]int64, backlog.Shards))
		if err != nil || len(p.Shards) != 0 || p.Next <= 50*time.Minute || p.Next > time.Hour {
			f.Fatalf("%+v, %v", p, err)
		}
		e.Deliver(h, "soon")
		f.Eventually("the row is due", func() bool { e.Round(w); return runs.Of("soon") == 2 })
		f.AppliedOnce(h, "soon")
		if d := depth(f); d.Postponed != 1 || d.Delayed != 1 || runs.Of("late") != 1 {
			f.Errorf("%+v", d)
		}
	})
}

// While the store is away, a visit fails with its error and spends no attempt; nothing is
// told but that.
func TestVisitWhileTheStoreIsAway(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, func(string, int) error {
			f.Store.Down.Store(true)
			f.Store.Refuse(1, enginetest.ErrLost)
			return nil
		})
		take(e, h, "k", "m0", "m1")
		w := e.Worker(h)
		if _, err := w.Work(f.Context(), shardOf, 0); !errors.Is(err, enginetest.ErrLost) {
			f.Errorf("%v", err)
		}
		f.Store.Down.Store(false)
		if len(e.Failures()) != 0 || len(f.Attempts(h, "m0")) != 0 || f.State(h, "m0") != inbox.Waiting {
			f.Errorf("failures %+v", e.Failures())
		}
		h.Run = counted("orders", runs, never).Run
		e.WorkOff(w)
		f.AppliedOnce(h, "m0", "m1")
	})
}

// A row that cannot be decoded any more becomes a letter, beside the others.
func TestRowThatCannotBeDecoded(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := counted("orders", new(enginetest.Runs), never)
		h.Decode = func(d *headrace.Delivery) (any, error) {
			switch d.Key {
			case "m1":
				return nil, errors.New("no JSON")
			case "m2":
				panic("no JSON either")
			}
			return nil, nil
		}
		take(e, h, "k", enginetest.Keys("m", 4)...)
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, "m0", "m3")
		if letters := f.Letters(); len(letters) != 2 || f.State(h, "m1") != inbox.Dead || f.State(h, "m2") != inbox.Dead {
			f.Errorf("letters %+v", letters)
		}
	})
}

// A stopped worker begins nothing.
func TestVisitAfterAStop(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, never)
		take(e, h, "k", "m0")
		e.Stop()
		if r, err := e.Worker(h).Work(f.Context(), shardOf, 0); err != nil || r.Rows != 0 || len(runs.Order()) != 0 {
			f.Errorf("%+v, %v", r, err)
		}
	})
}
