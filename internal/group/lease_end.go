package group

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/telemetry"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// fence locks the row of the task's lease in t, as its first statement, and reports
// whether it is still ours.
func (e *Engine) fence(ctx context.Context, t *txn.Txn, task *Task) (bool, error) {
	return e.st.Backlog().Leases.Fence(ctx, t, task.lease(), e.idle())
}

// ruleLeased writes the verdict on a leased task that failed, under its lease.
func (e *Engine) ruleLeased(ctx context.Context, t *txn.Txn, f failure) (ruling, error) {
	ours, err := e.fence(ctx, t, f.task)
	if err != nil || !ours {
		return e.lost(f.task, ruling{}), err
	}
	return e.ruleRow(ctx, t, f)
}

// finishLeased commits the effects of a task whose work succeeded. It returns the
// failure where they failed, and Released where the consumer ends before the database
// took them.
func (e *Engine) finishLeased(task *Task) (Outcome, *failure) {
	for {
		r := e.tryLeased(task)
		switch {
		case len(r.failures) > 0:
			return Released, &r.failures[0]
		case r.err == nil && len(r.busy) == 0:
			e.o.Gate.OK()
			return r.settled[0].outcome, nil
		case errors.Is(r.err, inbox.ErrSwitched):
			e.o.Fatal(fmt.Errorf("handler %s: %w", e.h.Scope, r.err))
			return Released, nil
		case e.hard.Err() != nil:
			return Released, nil
		case r.err == nil, errors.Is(r.err, errSingly):
			continue
		}
		if !sleep(e.hard, e.o.Gate.Fail(fmt.Errorf("commit under a lease: %w", r.err))) {
			return Released, nil
		}
	}
}

// tryLeased runs the effects in one transaction, under the fence.
func (e *Engine) tryLeased(task *Task) result {
	t, err := e.begin()
	if err != nil {
		return result{err: err}
	}
	defer t.Rollback()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.hard), e.o.Patience)
	defer cancel()
	outcome, err := e.pass(ctx, t, task)
	if err != nil {
		t.Rollback() // a ping may need its connection
		return e.own([]*Task{task}, err)
	}
	r := result{settled: []settled{{task, outcome}}}
	if outcome == Released { // somebody else's by now: nothing of it is to be seen
		r.settled[0].outcome = Duplicate
		if task.unknown {
			r.settled[0].outcome = Applied
		}
		return r
	}
	var events []outbox.Row
	if outcome == Applied && task.effects != nil {
		out := e.invoke(t, []*Task{task})
		if out.abandoned {
			t.Discard()
		}
		if len(out.failures) > 0 {
			return e.sortFailures(ctx, t, []*Task{task}, out)
		}
		events = out.events
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(e.hard), e.o.Patience)
	defer cancel()
	if err := e.leave(own, t, task); err != nil {
		t.Rollback()
		if txn.Classify(err) == txn.Aborted { // a statement had failed, and its error was passed over
			return result{failures: []failure{{task: task, err: passedOver(err)}}}
		}
		return e.own([]*Task{task}, err)
	}
	return e.commit(own, t, []*Task{task}, events, r)
}

// pass passes the fence, takes the order key and marks the message done. Released says
// that the lease is lost, Duplicate that somebody else finished the message.
func (e *Engine) pass(ctx context.Context, t *txn.Txn, task *Task) (Outcome, error) {
	ours, err := e.fence(ctx, t, task)
	if err != nil || !ours {
		return Released, err
	}
	if _, err := e.orderOf(ctx, t, task); err != nil {
		return Released, err
	}
	moved, err := e.st.Inbox().Transition(ctx, t, []inbox.ID{task.ID()}, inbox.Waiting, inbox.Done)
	if err != nil {
		return Released, fmt.Errorf("waiting to done: %w", err)
	}
	if len(moved) == 0 {
		return Duplicate, nil
	}
	return Applied, nil
}

// giveBack ends the leases of tasks that were not begun or not finished. It tries until
// the database takes it, or the consumer has ended; then they run out by themselves.
func (l *leaser) giveBack(tasks ...*Task) {
	for _, t := range tasks {
		t.end(telemetry.RolledBack)
	}
	for {
		err := l.giveBackOnce(tasks)
		if err == nil {
			l.nudge()
			return
		}
		if l.e.hard.Err() != nil || !sleep(l.e.hard, l.e.o.Gate.Fail(fmt.Errorf("give leases back: %w", err))) {
			return
		}
	}
}

func (l *leaser) giveBackOnce(tasks []*Task) error {
	if len(tasks) == 0 {
		return nil
	}
	t, err := l.e.begin()
	if err != nil {
		return err
	}
	defer t.Rollback()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(l.e.hard), l.e.o.Patience)
	defer cancel()
	if err := l.e.st.Backlog().Leases.GiveBack(ctx, t, leasesOf(tasks)); err != nil {
		return err
	}
	return l.e.st.Commit(ctx, t, nil)
}
