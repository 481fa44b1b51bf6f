package batch_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// A process remembers the failure of a run that was rolled back, until it is recorded. Another
// process postpones the message meanwhile: the next run is another one, and what comes of it
// counts.
//
// Without that the failure was recorded later, for a run that did not happen: a postponed row
// has the same numbers of attempts and of reruns.
func TestFailureBeforeThePostponementOfAnother(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		ours, others := f.Engine(nil), f.EngineOn(f.Open(), nil)
		h := counted("orders", &runs, func(_ string, run int) error {
			if run > 1 {
				return nil
			}
			f.Store.Down.Store(true) // the failure cannot be recorded
			return enginetest.ErrBoom
		})
		take(ours, h, "k", "m")
		w := ours.Worker(h)
		if _, err := w.Work(f.Context(), shardOf, 0); err == nil {
			t.Fatal("the store was away")
		}
		postpones := enginetest.Handler("orders", func(context.Context, *headrace.Tx, task.Input) error {
			return retry.Postpone(time.Millisecond, errors.New("too many requests"))
		})
		if _, err := others.Worker(postpones).Work(f.Context(), shardOf, 0); err != nil {
			t.Fatal(err)
		}
		f.Store.Down.Store(false)
		f.Eventually("it is applied, or has failed", func() bool {
			ours.Round(w)
			return f.State(h, "m") != inbox.Waiting
		})
		f.AppliedOnce(h, "m")
	})
}

// The rule holds for work under a lease: its failure could not be recorded, and the next lease
// of this process ends well.
func TestFailureUnderAnEarlierLease(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := leasedHandler("orders")
		e.Put(h, "m")
		one := e.Lease(h, 1)[0]
		f.Store.Refuse(1, errors.Join(txn.ErrRolledBack, conflict{}))
		if e.Finish(one, &outcome.Failure{Task: one, Err: enginetest.ErrBoom}) {
			t.Fatal("the failure is recorded")
		}
		f.In(func(t *txn.Txn) error {
			return f.Store.Backlog().Leases.GiveBack(f.Context(), t, []backlog.Lease{one.Lease()})
		})
		next := e.Lease(h, 1)[0]
		next.Effects = func(ctx context.Context, tx *headrace.Tx) error {
			return enginetest.Effect(ctx, tx, task.Input{Delivery: next.Delivery})
		}
		if !e.Finish(next, nil) {
			t.Fatal("it has no outcome")
		}
		f.AppliedOnce(h, "m")
	})
}
