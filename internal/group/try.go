package group

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/intake"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// errSingly asks for each task of the group to be run in a transaction of its own.
var errSingly = errors.New("run singly")

// errGuarded asks for the group to be claimed again, so that keys held elsewhere are
// told from the others.
var errGuarded = errors.New("claim guarded")

// errHeldElsewhere says that the claim waited as long as it may for a key that
// another transaction holds.
var errHeldElsewhere = errors.New("key held elsewhere")

// settled is a task whose outcome is committed.
type settled struct {
	task    *Task
	outcome Outcome
}

// result is what one transaction for a group gave. Without err and failures it is
// committed.
type result struct {
	settled  []settled
	failures []failure
	busy     []*Task
	err      error
	// wrote says that the transaction holds more than the claims and what handlers wrote.
	wrote   bool
	refused bool // see ErrRefused
}

// try claims tasks, runs the handler for those it won, and commits. Everything that
// it learns counts only with the commit.
//
// The first claim of a group is unguarded: a savepoint costs two round trips, and
// keys are hardly ever held elsewhere. One task alone is never guarded, since there are
// no others to tell it from.
func (e *Engine) try(tasks []*Task, guarded bool) (r result) {
	t, err := e.begin()
	if err != nil {
		return result{err: err}
	}
	defer t.Rollback()
	ctx, cancel := context.WithTimeout(e.hard, e.o.Patience) // no handler has begun
	defer cancel()

	free, err := e.queueBehind(ctx, t, tasks, &r)
	if err != nil {
		t.Rollback() // a ping may need its connection
		return e.own(tasks, err)
	}
	won, letters, err := e.claim(ctx, t, free, guarded, &r)
	if !guarded && txn.Classify(err) == txn.LockTimeout {
		if len(tasks) == 1 {
			return result{busy: tasks}
		}
		return result{err: errGuarded}
	}
	if err != nil {
		t.Rollback()
		return e.own(tasks, err)
	}
	cancel() // the handlers have deadlines of their own
	if len(won) == 0 && !r.wrote {
		return r // what it learned is committed, by others
	}
	var out invoked
	if len(won) > 0 {
		out = e.invoke(t, won)
	}
	ctx, cancel = context.WithTimeout(context.WithoutCancel(e.hard), e.o.Patience)
	defer cancel()
	switch {
	case out.abandoned:
		t.Discard()
		fallthrough
	case out.unclear != nil || len(out.failures) > 0:
		return e.sortFailures(ctx, t, tasks, out)
	}
	rows := out.events
	if len(letters) > 0 {
		rows = append(letters, rows...)
	}
	return e.commit(ctx, t, tasks, rows, r)
}

func (e *Engine) begin() (*txn.Txn, error) {
	ctx, cancel := context.WithTimeout(e.soft, e.o.Patience)
	switch {
	case e.hard.Err() != nil: // all that is left shares one deadline
		cancel()
		ctx, cancel = context.WithDeadline(context.WithoutCancel(e.hard), e.last.deadline(e.o.Grace))
	case e.soft.Err() != nil: // draining: finish what was taken
		cancel()
		ctx, cancel = context.WithTimeout(context.WithoutCancel(e.hard), e.o.Patience)
	}
	defer cancel()
	return e.st.Begin(ctx)
}

// lastCall is a deadline that is set when it is first asked for.
type lastCall struct {
	once sync.Once
	at   time.Time
}

func (l *lastCall) deadline(in time.Duration) time.Time {
	l.once.Do(func() { l.at = time.Now().Add(in) })
	return l.at
}

// claim takes the inbox rows. It returns the tasks that were won, in order, and the
// outbox rows for the letters of conflicts.
func (e *Engine) claim(ctx context.Context, t *txn.Txn, tasks []*Task, guarded bool, r *result) ([]*Task, []outbox.Row, error) {
	if len(tasks) == 0 {
		return nil, nil, nil
	}
	request := inbox.ClaimRequest{
		Claims: make([]inbox.Claim, len(tasks)), IdleTimeout: e.idle(),
		LockTimeout: e.o.LockTimeout, Unguarded: !guarded,
	}
	for i, task := range tasks {
		request.Claims[i] = inbox.Claim{ID: task.ID(), Fingerprint: task.Delivery.Fingerprint}
	}
	claimed, err := e.st.Inbox().Claim(ctx, t, request)
	if err != nil && ctx.Err() != nil {
		return nil, nil, errHeldElsewhere
	}
	if err != nil {
		return nil, nil, fmt.Errorf("claim: %w", err)
	}
	var won []*Task
	var letters []outbox.Row
	waits := make(map[string]bool) // order keys behind a busy task
	for i, c := range claimed {
		task := tasks[i]
		key := task.Delivery.OrderKey
		switch {
		case c.Result == inbox.Busy:
			r.busy = append(r.busy, task)
			waits[key] = key != ""
		case c.Result == inbox.Won && waits[key]:
			// A won claim cannot be given back but by a rollback: run without it.
			return nil, nil, errSingly
		case c.Result == inbox.Won:
			won = append(won, task)
			r.settled = append(r.settled, settled{task, Applied})
		case c.Entry.Fingerprint == task.Delivery.Fingerprint:
			r.settled = append(r.settled, settled{task, task.before(c.Entry)})
		default:
			rows, err := e.conflict(ctx, t, task, c.Entry)
			if err != nil {
				return nil, nil, err
			}
			letters = append(letters, rows...)
			r.wrote = true
			r.settled = append(r.settled, settled{task, Conflict})
		}
	}
	return won, letters, nil
}

// commit ends the transaction, and sorts what went wrong.
func (e *Engine) commit(ctx context.Context, t *txn.Txn, tasks []*Task, rows []outbox.Row, r result) result {
	err := e.st.Commit(ctx, t, rows)
	switch {
	case err == nil:
		if len(rows) > 0 {
			e.o.Wake()
		}
		return r
	case errors.Is(err, txn.ErrCommitUnknown):
		for _, task := range tasks {
			task.unknown = true
		}
		return result{err: err}
	case errors.Is(err, txn.ErrRolledBack):
		return e.refused(tasks, err)
	}
	return e.own(tasks, err)
}

// refused handles a commit that the database rolled back: a deferred constraint, or
// a transaction that a swallowed error had aborted. Of several tasks nobody knows
// which one was meant.
func (e *Engine) refused(tasks []*Task, err error) result {
	if len(tasks) > 1 {
		return result{err: errSingly}
	}
	if txn.Classify(err) == txn.Serialization && e.rerunFree(tasks) {
		return result{err: errSingly}
	}
	return result{failures: []failure{{task: tasks[0], err: err}}}
}

// own sorts an error of our own statements: it is nobody's attempt. A lost
// connection while the store answers may be the handler's doing (an idle kill, a
// terminated backend), so after some reruns it counts.
func (e *Engine) own(tasks []*Task, err error) result {
	switch txn.Classify(err) {
	case txn.Serialization, txn.LockTimeout:
		e.shrink.Store(shrunkGroups)
		return result{err: errSingly}
	case txn.Connection:
		if !e.answers() {
			return result{err: err}
		}
		if len(tasks) > 1 || e.rerunFree(tasks) {
			return result{err: errSingly}
		}
		return result{failures: []failure{{task: tasks[0], err: err}}}
	}
	if errors.Is(err, errHeldElsewhere) {
		if down := e.ping(); down != nil { // it may as well be silent
			return result{err: down}
		}
		return result{busy: tasks}
	}
	return result{err: err}
}

// sortFailures separates what the handlers are to blame for from what they are not.
func (e *Engine) sortFailures(ctx context.Context, t *txn.Txn, tasks []*Task, out invoked) result {
	if !out.abandoned {
		t.Rollback()
	}
	if out.unclear != nil {
		return result{err: errSingly}
	}
	f := out.failures[0]
	if errors.Is(f.err, ErrRefused) {
		return result{err: f.err, refused: true}
	}
	switch f.class() {
	case txn.Serialization:
		e.shrink.Store(shrunkGroups)
		if e.rerunFree([]*Task{f.task}) {
			return result{err: errSingly}
		}
	case txn.Connection:
		if down := e.ping(); down != nil {
			return result{err: outage{f.err, down}}
		}
		if e.rerunFree([]*Task{f.task}) {
			return result{err: errSingly}
		}
	case txn.Aborted: // some task before it passed over a failed statement
		if len(tasks) > 1 {
			return result{err: errSingly}
		}
	}
	if e.hard.Err() != nil && errors.Is(f.err, context.Canceled) {
		return result{err: outage{err: f.err}} // cancelled is not failed
	}
	return result{failures: out.failures}
}

// rerunFree reports whether the tasks may be run again at no attempt's cost.
func (e *Engine) rerunFree(tasks []*Task) bool {
	for _, t := range tasks {
		if t.reruns >= maxReruns {
			return false
		}
		t.reruns++
	}
	return true
}

// answers reports whether the store does.
func (e *Engine) answers() bool { return e.ping() == nil }

func (e *Engine) ping() error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(e.hard), pingTime)
	defer cancel()
	return e.st.Ping(ctx)
}

// queueBehind puts, in strict mode, those tasks into the backlog whose order key
// has an earlier message there, and returns the others.
func (e *Engine) queueBehind(ctx context.Context, t *txn.Txn, tasks []*Task, r *result) ([]*Task, error) {
	if !e.h.Strict {
		return tasks, nil
	}
	waiting, err := e.lockOrder(ctx, t, tasks)
	if err != nil {
		return nil, err
	}
	var free []*Task
	for _, task := range tasks {
		if !waiting[task.order()] {
			free = append(free, task)
			continue
		}
		took, err := e.st.Inbox().Record(ctx, t, inbox.Entry{ID: task.ID(), State: inbox.Waiting, Fingerprint: task.Delivery.Fingerprint})
		if err != nil {
			return nil, fmt.Errorf("queue behind: %w", err)
		}
		if !took {
			free = append(free, task) // a duplicate, or a conflict: the claim tells
			continue
		}
		item := e.item(task)
		item.Blocked = true
		if err := e.st.Backlog().Put(ctx, t, []backlog.Item{item}); err != nil {
			return nil, fmt.Errorf("queue behind: %w", err)
		}
		r.wrote = true
		r.settled = append(r.settled, settled{task, Waiting})
	}
	return free, nil
}

// lockOrder takes the order keys of tasks, and returns those that have waiting rows.
func (e *Engine) lockOrder(ctx context.Context, t *txn.Txn, tasks []*Task) (map[backlog.OrderKey]bool, error) {
	keys := make([]backlog.OrderKey, len(tasks))
	for i, task := range tasks {
		keys[i] = task.order()
	}
	waiting, err := intake.Waiting(ctx, t, e.st.Backlog().Order, keys)
	if err != nil && ctx.Err() != nil {
		return nil, fmt.Errorf("lock order: %w", errHeldElsewhere)
	}
	return waiting, err
}
