package lease

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/steps"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// work is the work on one lease.
type work struct {
	task   *task.Task
	ctx    context.Context // ends with the lease
	cancel context.CancelCauseFunc
	// end cancels at the end of the lease by our own clock, which continues while the
	// process is frozen: no work continues under a lease that another process may have.
	end *time.Timer
}

// begin starts the work on one, until its lease ends.
func (w *Worker) begin(one *task.Task, end time.Time) {
	k := &work{task: one}
	k.ctx, k.cancel = context.WithCancelCause(w.Cancelled)
	k.end = time.AfterFunc(time.Until(end), func() { k.cancel(outcome.ErrLeaseLost) })
	w.mu.Lock()
	w.held[k] = struct{}{}
	w.mu.Unlock()
	w.works.Go(func() {
		stuck := false
		runner.Alive(func() { stuck = w.work(k) }, w.p.Fatal)
		k.end.Stop()
		k.cancel(nil)
		w.mu.Lock()
		delete(w.held, k)
		w.mu.Unlock()
		w.Guard.GiveBack(1)
		if !stuck {
			<-w.slots
		}
	})
}

// work does the work of a lease once, and commits its result, or gives the lease back. It
// reports whether the work was abandoned, with its slot.
func (w *Worker) work(k *work) (stuck bool) {
	one := k.task
	failure, stuck := w.run(k)
	if failure != nil && k.ctx.Err() != nil && errors.Is(failure.Err, context.Canceled) {
		w.giveBack(one) // the lease or the consumer ended: no failure of the message
		return stuck
	}
	if !w.p.Finish(one, failure) {
		w.giveBack(one)
	}
	return stuck
}

// run calls the user's function under the handler's deadline and the lease. It drops the
// result of an abandoned function.
func (w *Worker) run(k *work) (failure *outcome.Failure, stuck bool) {
	one, tel := k.task, w.h.Telemetry
	w.h.Resolve(one)
	if one.Bad != nil {
		return &outcome.Failure{Task: one, Kind: outcome.Undecodable, Err: one.Bad}, false
	}
	ctx, _, span := tel.Start(k.ctx, &one.Delivery, nil, true)
	one.Began(span)
	in := one.Input()
	var r runner.Result
	var effects headrace.Effects
	var awaits []string
	lost := w.p.Runner.Run(k.ctx, func(s *runner.Session) {
		r = s.Call(ctx, w.h.Leased.Timeout, &called{w}, func(ctx context.Context) (err error) {
			session := w.session(ctx, one)
			defer session.End()
			effects, err = w.h.Leased.Work(ledger.With(ctx, session), in)
			awaits = session.Awaits()
			if failed := steps.Park(ctx, session); err == nil {
				err = failed
			}
			return attempt.Late(ctx, err, w.h.Leased.Timeout, "consumer.Timeout")
		})
	})
	if lost != nil {
		r = runner.Result{Err: lost.Err, Took: w.h.Leased.Timeout}
		if k.ctx.Err() != nil && lost.Stuck {
			r.Err = fmt.Errorf("%w: %w", r.Err, k.ctx.Err())
		}
		stuck = lost.Stuck
	}
	span.Returned()
	tel.Took(&one.Delivery, r.Took, outcome.RunClass(r.Err))
	if r.Err == nil {
		one.Effects = w.guarded(one, effects)
		one.End(telemetry.Worked)
		return nil, false
	}
	failure = &outcome.Failure{Task: one, Kind: outcome.KindOf(r.Err), Err: r.Err, Stack: r.Stack, Took: r.Took}
	if lost == nil {
		failure.Awaits = awaits
	}
	return failure, stuck
}

// session is the ledger of a run of the work on one.
func (w *Worker) session(ctx context.Context, one *task.Task) *steps.Session {
	m := steps.Message{ID: one.ID(), Lease: one.Lease(), Sent: one.Delivery.Time, Postponed: one.Item.Postponed}
	if w.h.Database != nil {
		m.Database = w.h.Database()
	}
	return steps.New(ctx, w.steps, w.h.Leased.Plan, m, stepCall{&called{w}})
}

// guarded are the effects of work, in a transaction in which no step of its message is open, or
// unknown to the handler. The table is asked, since this run may have reached fewer steps than
// an earlier one, or none.
func (w *Worker) guarded(one *task.Task, effects headrace.Effects) headrace.Effects {
	return func(ctx context.Context, tx *headrace.Tx) error {
		open, err := w.Steps.Open(ctx, tx, []inbox.ID{one.ID()}, w.h.Leased.Plan.Names())
		if err != nil {
			return err
		}
		if step, found := open[one.ID()]; found {
			return w.h.Leased.Plan.Left(step, one.Item.Postponed)
		}
		if effects == nil {
			return nil
		}
		return effects(ctx, tx)
	}
}

// stepCall is a call of a step's function: see task.Call. It has no slot of its own.
type stepCall struct{ *called }

// Returned implements task.Call.
func (stepCall) Returned() {}

// called is a call of the user's function: see task.Call.
type called struct{ w *Worker }

// Of implements task.Call.
func (c *called) Of() (*task.Handler, int) { return c.w.h, 1 }

// Returned implements task.Call: abandoned work frees its slot.
func (c *called) Returned() { <-c.w.slots }

// beat extends the leases, until ended is closed.
func (w *Worker) beat(ended <-chan struct{}) {
	ticker := time.NewTicker(w.h.Leased.Term / 3)
	defer ticker.Stop()
	for {
		select {
		case <-ended:
			return
		case <-ticker.C:
			w.extend()
		}
	}
}

// extend extends all leases. If it fails, their own timers continue.
func (w *Worker) extend() {
	w.mu.Lock()
	works := make([]*work, 0, len(w.held))
	for k := range w.held {
		works = append(works, k)
	}
	w.mu.Unlock()
	if len(works) == 0 {
		return
	}
	leases := make([]backlog.Lease, len(works))
	for i, k := range works {
		leases[i] = k.task.Lease()
	}
	before := time.Now()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(w.Cancelled), w.h.Leased.Term/3)
	defer cancel()
	var extended, locked []backlog.Lease
	err := store.Transact(ctx, w.p.Store, func(t *txn.Txn) (err error) {
		extended, locked, err = w.p.Store.Backlog().Leases.Extend(ctx, t, leases, w.h.Leased.Term)
		return err
	})
	if err != nil {
		return
	}
	for i, k := range works {
		switch {
		case slices.Contains(extended, leases[i]):
			k.end.Reset(time.Until(before.Add(w.h.Leased.Term)))
		case !slices.Contains(locked, leases[i]): // lost; if the work has ended this does nothing
			k.cancel(outcome.ErrLeaseLost)
		}
	}
}

// giveBack ends the leases of tasks that were not begun or not finished. It tries until
// the database accepts it, or the consumer has ended; then they expire.
func (w *Worker) giveBack(tasks ...*task.Task) {
	for _, t := range tasks {
		t.End(telemetry.RolledBack)
	}
	for len(tasks) > 0 {
		ctx, cancel := w.p.Own()
		err := store.Transact(ctx, w.p.Store, func(t *txn.Txn) error {
			return w.p.Store.Backlog().Leases.GiveBack(ctx, t, leasesOf(tasks))
		})
		cancel()
		if err == nil {
			w.Wake()
			return
		}
		if !sleep.For(w.Cancelled, w.p.Breaker.Fail(fmt.Errorf("give leases back: %w", err))) {
			return
		}
	}
}
