package group

import (
	"context"
	"errors"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/store/txn"
)

// takeIn puts tasks into the backlog instead of running them: whoever works that off
// runs them. A task that somebody else works on is given back, with the later ones of
// its order key.
func (e *Engine) takeIn(tasks []*Task) (r result) {
	for len(tasks) > 0 {
		some, busy := e.takeInOnce(tasks)
		if len(busy) == 0 {
			some.busy = append(some.busy, r.busy...)
			return some
		}
		free := newHeld(tasks)
		free.add(busy)
		tasks = free.split(without(tasks, busy))
		r.busy = append(r.busy, free.again()...)
	}
	return r
}

// without returns tasks without some of them.
func without(tasks, some []*Task) (rest []*Task) {
	out := make(map[*Task]bool, len(some))
	for _, t := range some {
		out[t] = true
	}
	for _, t := range tasks {
		if !out[t] {
			rest = append(rest, t)
		}
	}
	return rest
}

// takeInOnce takes all of tasks in, or returns those that somebody else works on.
func (e *Engine) takeInOnce(tasks []*Task) (r result, busy []*Task) {
	t, err := e.begin()
	if err != nil {
		return result{err: err}, nil
	}
	defer t.Rollback()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.hard), e.o.Patience)
	defer cancel()
	messages := make([]intake.Message, len(tasks))
	for i, task := range tasks {
		messages[i].Item = e.item(task)
	}
	in := intake.Intake{Store: e.st, Alerts: e.o.Alerts, DeadTopic: e.o.DeadTopic, Host: e.o.Host, Build: e.o.Build, LockTimeout: e.o.LockTimeout, IdleTimeout: e.idle()}
	in.Wrote = func(i int, class dlq.Class) { tasks[i].letter = class }
	taking, err := in.Take(ctx, t, messages)
	if err != nil {
		return e.notTaken(ctx, tasks, err), nil
	}
	for i, o := range taking.Outcomes {
		if o == intake.Busy {
			busy = append(busy, tasks[i])
		}
		r.settled = append(r.settled, settled{tasks[i], outcomeOf(tasks[i], o)})
	}
	if len(busy) > 0 {
		return result{}, busy
	}
	if err := e.st.Commit(ctx, t, taking.Copies); err != nil {
		for _, task := range tasks {
			task.unknown = task.unknown || errors.Is(err, txn.ErrCommitUnknown)
		}
		return e.notTaken(ctx, tasks, err), nil
	}
	if len(taking.Copies) > 0 {
		e.o.Wake()
	}
	e.st.Backlog().Signals.Wake(e.h.Consumer)
	return r, nil
}

// notTaken sorts an error of our own statements. No handler has run: it is nobody's
// attempt.
func (e *Engine) notTaken(ctx context.Context, tasks []*Task, err error) result {
	c := txn.Classify(err)
	if len(tasks) > 1 && (c == txn.Serialization || c == txn.LockTimeout) {
		return result{err: errSingly}
	}
	if c == txn.Serialization || c == txn.LockTimeout || ctx.Err() != nil {
		return result{busy: tasks}
	}
	return result{err: fmt.Errorf("take in: %w", err)}
}

// outcomeOf translates what Take did. Where a COMMIT of the task had no answer, the row
// that is there is the answer.
func outcomeOf(task *Task, o intake.Outcome) Outcome {
	switch {
	case o == intake.Conflict:
		return Conflict
	case o == intake.Dead:
		return Dead
	case o == intake.Duplicate && !task.unknown:
		return Duplicate
	}
	return Waiting
}
