package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/store/txn"
)

// Care says how carefully messages are to be run: see package internal/caution. It is
// safe for concurrent use.
type Care interface {
	// Level is asked for each group; it costs next to nothing.
	Level() instance.Caution
	// Enter asks whether messages may run together, or the one alone, and waits for
	// their turn. Where the advice is instance.Go, leave is called when their outcomes
	// are committed.
	Enter(ctx context.Context, messages []inbox.ID) (advice instance.Advice, leave func(), err error)
	// Lease asks for up to n leases for the leased handler called who, and returns how
	// many it may claim now. GiveBack is called for each that was not claimed, or ended.
	Lease(who string, n int) int
	// OnlyLease asks for one of the n leases that who was just given to be the only one
	// in this process. Where it is false, who comes next when no lease is in hand.
	OnlyLease(who string, n int) bool
	GiveBack(n int)
}

// errCrashed is why a message is not run again.
var errCrashed = errors.New("the process ended each time that this message was the only one that ran")

// restTime is how long a message is left alone that another process works on, or may
// work on.
const restTime = 500 * time.Millisecond

// careless reports whether groups run as they come.
func (o *Options) careless() bool { return o.Care == nil || o.Care.Level() == instance.Normal }

func idsOf(tasks []*Task) []inbox.ID {
	ids := make([]inbox.ID, len(tasks))
	for i, t := range tasks {
		ids[i] = t.ID()
	}
	return ids
}

// stepWithCare runs a group once, as carefully as it is to be. Verdicts are written
// before the message is crossed out: its outcome is committed then.
func (e *Engine) stepWithCare(u unit, held *held) (next []unit, again []*Task) {
	if e.h.Intake || e.o.careless() { // intake runs nothing of the user's
		return e.step(u.tasks, u.guarded)
	}
	task := u.tasks[0]
	advice, leave, err := e.o.Care.Enter(e.soft, idsOf(u.tasks))
	switch {
	case err != nil: // or the consumer stops, which hold heeds
		return e.hold(u.tasks, fmt.Errorf("with care: %w", err))
	case advice == instance.Singly:
		return singly(u.tasks), nil
	case advice == instance.Wait:
		task.rest = restTime
		return nil, u.tasks
	case advice == instance.Crashed && !task.accused:
		task.accused = true
		return []unit{{verdicts: []failure{{task: task, err: errCrashed}}}}, nil
	case advice == instance.Crashed: // the verdict came too late: the claim says what it is
		return e.step(u.tasks, u.guarded)
	}
	defer leave()
	next, again = e.step(u.tasks, u.guarded)
	for i := range next {
		e.pronounce(next[i].verdicts, held)
		next[i].verdicts = nil
		if e.h.Strict && len(next[i].tasks) > 0 {
			break // they come before the others' verdicts: see judge
		}
	}
	return next, again
}

// crashed writes the letter of a message that is not run again, because it ended its
// process too often.
func (e *Engine) crashed(ctx context.Context, t *txn.Txn, task *Task) (ruling, error) {
	r := ruling{class: string(dlq.Crashed), failure: dlq.Describe(errCrashed, nil)}
	if _, err := e.orderOf(ctx, t, task); err != nil {
		return r, err
	}
	recorded, err := e.st.Inbox().Attempts(ctx, task.ID())
	if err != nil {
		return r, fmt.Errorf("read attempts: %w", err)
	}
	return e.ruleDead(ctx, t, task, r, dlq.Crashed, len(recorded))
}

// workWithCare is Work where messages run as carefully as they are to be: what will run
// is read first, and written down before the transaction that runs it.
func (l *Line) workWithCare(ctx context.Context, shard int, after int64) (drain.Result, error) {
	if l.o.Care.Level() == instance.Cautious {
		l.limits[shard] = 1
	}
	b, result, err := l.peek(ctx, shard, after)
	if b == nil {
		return result, err
	}
	ids := idsOf(b.tasks)
	advice, leave, err := l.o.Care.Enter(l.soft, ids)
	switch {
	case err != nil && l.soft.Err() != nil:
		return drain.Result{}, nil
	case err != nil:
		return drain.Result{}, fmt.Errorf("with care: %w", err)
	case advice == instance.Singly:
		return l.singly(b), nil
	case advice == instance.Wait:
		return l.putOff(b)
	case advice == instance.Crashed:
		return l.afterwards(b, failure{task: b.tasks[0], err: errCrashed})
	}
	defer leave()
	return l.work(ctx, shard, after, ids)
}

// peek reads what Work would take up, and leaves it where it is.
func (l *Line) peek(ctx context.Context, shard int, after int64) (*batch, drain.Result, error) {
	t, err := l.st.Begin(ctx)
	if err != nil {
		return nil, drain.Result{}, fmt.Errorf("work backlog: %w", err)
	}
	defer t.Rollback()
	ctx, cancel := context.WithTimeout(ctx, l.o.Patience)
	defer cancel()
	return l.take(ctx, t, shard, after)
}

// putOff lets a row wait off the ready line, where it is in nobody's way, at no
// attempt's cost.
func (l *Line) putOff(b *batch) (drain.Result, error) {
	item := b.tasks[0].item
	_, err := b.e.once(func(ctx context.Context, t *txn.Txn) (ruling, error) {
		return ruling{}, b.e.st.Backlog().Reschedule(ctx, t, item.RowID, restTime, item.Delivery.Attempt)
	})
	if err != nil {
		return drain.Result{}, fmt.Errorf("put off: %w", err)
	}
	return drain.Result{Rows: 1, More: true}, nil
}

// keep cuts the batch down to the messages that may run, in the order in which they were
// read, and reports whether any is left.
func (b *batch) keep(ids []inbox.ID) bool {
	n := 0
	for n < len(b.tasks) && n < len(ids) && b.tasks[n].ID() == ids[n] {
		b.mark = b.tasks[n].item.RowID
		n++
	}
	b.more = b.more || n < len(b.tasks)
	b.tasks = b.tasks[:n]
	return n > 0
}
