package batch

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/execute"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/runner"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// claims says how the messages of a part are claimed: live deliveries, rows of the
// backlog, or the one under a lease.
type claims interface {
	// claim claims the tasks of pt in t. Its error is from our own statements.
	claim(ctx context.Context, t *txn.Txn, pt *part) (claimed, error)
	// reads reports whether claim finds the tasks of pt itself.
	reads(pt *part) bool
	// runs reports whether handlers run.
	runs() bool
}

// claimed is the result of a claim.
type claimed struct {
	// tasks are to run: their inbox rows are Done in the transaction.
	tasks []*task.Task
	// settled are those that already have an outcome; it counts when the commit succeeds.
	settled []settled
	// busy are those that other transactions work on. If there are any, the claim has
	// done nothing else that counts, and part is to be claimed again without them.
	busy []*task.Task
	// gone are backlog rows whose messages other transactions have ended.
	gone []*task.Task
	// copies are outbox rows of dead letters.
	copies []outbox.Row
	// wrote says that the transaction has written more than claims.
	wrote bool
	// read says that the tasks were only read, because the guard must see them first.
	read bool
	// then is called after the commit with its failures; may be nil.
	then func([]*outcome.Failure)
}

type settled struct {
	task    *task.Task
	outcome task.Outcome
}

// attempt is one transaction for a part.
type attempt struct {
	p       *Processor
	c       claims
	part    *part
	leave   func(ran bool) // the guard
	t       *txn.Txn
	claimed claimed
	x       *execute.Execution // nil if there is nothing to commit
	start   time.Time
	stuck   bool // a handler was abandoned
}

// begin claims the part.
func (a *attempt) begin() *execute.Trouble {
	a.start = time.Now()
	var err error
	if a.t, err = a.p.begin(); err != nil {
		return a.trouble(judge.Claim, err)
	}
	if tr := a.claim(); tr != nil {
		return tr
	}
	switch {
	case len(a.claimed.busy) > 0 || a.claimed.read: // rolled back: see end
	case len(a.claimed.tasks) == 0 && !a.claimed.wrote && len(a.claimed.gone) == 0:
		a.settle(nil) // others have committed what the claim read
	default:
		a.x = execute.New(execute.Plan{
			Txn: a.t, Tasks: a.claimed.tasks, Before: a.part.before, Spaced: a.part.spaced, Checked: a.part.checked, Singly: a.part.singly,
			Known: a.p.memory.Knows, Versions: a.p.Versions, Cancelled: a.p.cancelled, Own: a.p.Own,
		})
	}
	return nil
}

func (a *attempt) claim() *execute.Trouble {
	ctx, cancel := context.WithTimeout(a.p.cancelled, a.p.StoreTimeout) // no handler has begun
	defer cancel()
	var err error
	if a.claimed, err = a.c.claim(ctx, a.t, a.part); err == nil {
		return nil
	}
	if !a.part.keyByKey && txn.Classify(err) == txn.LockTimeout && len(a.part.tasks) > 1 {
		a.part.keyByKey = true
		return &execute.Trouble{Err: err, Again: true}
	}
	return a.trouble(judge.Claim, err)
}

// end records and commits unless there is trouble, and ends the transaction. What is
// committed is settled.
func (a *attempt) end(tr *execute.Trouble) step {
	if tr == nil && a.x != nil {
		tr = a.commit()
	}
	if a.t != nil {
		a.t.Rollback() // before the store is pinged, which may need the connection
	}
	a.leave(a.x != nil && !a.stuck)
	switch {
	case tr != nil:
		return a.p.afterTrouble(a.part, tr)
	case a.claimed.read:
		parts, later := a.p.advise(a.part)
		return step{parts: parts, left: later}
	case len(a.claimed.busy) > 0:
		smaller, rest := a.part.without(a.claimed.busy)
		return step{parts: []*part{smaller}, left: rested(rest)}
	}
	return step{left: outcome.Held(a.x.Failures())} // later parts may have what comes behind them
}

// trouble describes an error of our own statements.
func (a *attempt) trouble(phase judge.Phase, err error) *execute.Trouble {
	return execute.NewTrouble(phase, err, a.part.tasks)
}

// executed is the trouble of the handlers, which have run. lost says why one did not return.
func (a *attempt) executed(lost *runner.Lost) *execute.Trouble {
	if lost != nil {
		return a.lost(lost)
	}
	tr := a.x.Trouble()
	if tr != nil {
		ctx, cancel := a.p.Own()
		defer cancel()
		tr.Rollback(ctx, a.t, a.x.SessionChanged())
	}
	return tr
}

// lost is the trouble of a handler that did not return.
func (a *attempt) lost(l *runner.Lost) *execute.Trouble {
	c := l.What.(*execute.Call)
	if a.stuck = l.Stuck; l.Stuck {
		c.LeftBehind()
		a.t.Discard()
	}
	err := l.Err
	if a.p.cancelled.Err() != nil && l.Stuck { // abandoned because of a stop: no failure of the message
		err = fmt.Errorf("%w: %w", err, context.Canceled)
	}
	tr := &execute.Trouble{Err: err, Known: a.x.Failures(), Facts: judge.Facts{
		Phase: judge.Handler, Lost: l.Stuck, Late: l.Stuck, Messages: 1, Unclear: len(c.Tasks()) > 1,
		Cancelled: a.p.cancelled.Err() != nil,
	}}
	if !l.Stuck {
		ctx, cancel := a.p.Own()
		defer cancel()
		tr.Rollback(ctx, a.t, c.SessionChanged())
	}
	if tasks := c.Tasks(); len(tasks) == 1 {
		tr.Culprits = []*outcome.Failure{{Task: tasks[0], Err: err, Took: tasks[0].Handler.Timeout}}
	}
	return tr
}

// commit records the failures and commits.
func (a *attempt) commit() *execute.Trouble {
	ctx, cancel := a.p.Own()
	defer cancel()
	failures, applied := a.x.Failures(), a.x.Applied()
	if len(applied)+len(failures) != len(a.claimed.tasks) {
		err := fmt.Errorf("%d messages were claimed, %d applied and %d failed: nothing is committed", len(a.claimed.tasks), len(applied), len(failures))
		return &execute.Trouble{Err: err, Facts: judge.Facts{Switched: true}}
	}
	if a.x.SessionChanged() { // our own statements need the session's role and settings
		if err := a.t.Restore(ctx); err != nil {
			if errors.Is(err, sql.ErrTxDone) {
				err = execute.Switched(err)
			}
			return a.afterHandlers(judge.Record, err, breaker.Claims)
		}
	}
	copies, err := a.p.Recorder.Record(ctx, a.t, outcome.Batch{Applied: applied, Answers: a.x.Answers(), Failed: failures, Gone: a.claimed.gone})
	if err != nil {
		return a.afterHandlers(judge.Record, err, breaker.Failures)
	}
	rows := append(append(a.claimed.copies, copies...), a.x.Events()...)
	err = a.p.Store.Commit(ctx, a.t, rows)
	switch {
	case err == nil:
		if len(rows) > 0 {
			a.p.Wake()
		}
		a.p.Breaker.OK()
		a.settle(failures)
		a.wake(failures)
		if a.claimed.then != nil {
			a.claimed.then(failures)
		}
		return nil
	case errors.Is(err, txn.ErrCommitUnknown):
		for _, t := range a.part.tasks {
			t.Unknown = true
		}
		tr := a.trouble(judge.Commit, err)
		tr.Facts.Unknown, tr.Known = true, a.x.Failures()
		return tr
	case errors.Is(err, txn.ErrRolledBack):
		return a.afterHandlers(judge.Commit, err, breaker.Events)
	}
	return a.afterHandlers(judge.Record, err, breaker.Events)
}

// afterHandlers describes an error of our own statements after handlers have run. Earlier
// failures are known; the cause may be one of the handlers that succeeded.
func (a *attempt) afterHandlers(phase judge.Phase, err error, probe breaker.Probe) *execute.Trouble {
	tr := a.trouble(phase, err)
	tr.Known, tr.Probe = a.x.Failures(), probe
	switch applied := a.x.Applied(); len(applied) {
	case 0: // no handler has left changes that could be the cause
		tr.Facts.Phase = judge.Claim
	case 1:
		if tr.Facts.Class == txn.Aborted && phase == judge.Record {
			err = execute.PassedOver(err)
		}
		tr.Culprits = []*outcome.Failure{{Task: applied[0], Err: err}}
		fallthrough
	default:
		tr.Facts.Messages = len(applied)
	}
	return tr
}

// settle ends the tasks whose outcomes are committed.
func (a *attempt) settle(failures []*outcome.Failure) {
	if a.x != nil {
		a.x.Learn(time.Since(a.start))
		for _, t := range a.x.Applied() {
			a.p.settle(t, task.Applied)
		}
	}
	for _, f := range failures {
		a.p.report(f)
	}
	for _, s := range a.claimed.settled {
		if f := a.p.memory.Knows(s.task); f != nil && s.outcome != task.Applied && f.Outcome == s.outcome {
			a.p.report(f) // a COMMIT without an answer had recorded it
			continue
		}
		a.p.settle(s.task, s.outcome)
	}
}

// wake wakes the backlog's worker if rows were put there.
func (a *attempt) wake(failures []*outcome.Failure) {
	ended := a.claimed.settled
	for _, f := range failures {
		ended = append(ended, settled{f.Task, f.Outcome})
	}
	if i := slices.IndexFunc(ended, func(s settled) bool { return s.outcome == task.Waiting }); i >= 0 {
		a.p.Store.Backlog().Signals.Wake(ended[i].task.Handler.Consumer)
	}
}

// report reports a failure that is recorded, and ends its task.
func (p *Processor) report(f *outcome.Failure) {
	t := f.Task
	switch {
	case f.Kind == outcome.HeldBack:
		t.End(telemetry.RolledBack)
		return
	case f.Class != "":
		t.Failed(f.Class, f.Description.Type, f.Description.Fingerprint)
	}
	if f.Kind != outcome.Stale {
		p.Failed(f)
	}
	p.settle(t, f.Outcome)
}

// Report reports failures that were committed outside of an attempt, and wakes the relay
// if events were written.
func (p *Processor) Report(failures []*outcome.Failure, events bool) {
	if events {
		p.Wake()
	}
	for _, f := range failures {
		p.report(f)
	}
	if len(failures) > 0 {
		p.Store.Backlog().Signals.Wake(failures[0].Task.Handler.Consumer)
	}
}
