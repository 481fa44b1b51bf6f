package group

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// singly has the rows read again one by one: nobody knows whose the failure was.
func (l *Line) singly(b *batch) drain.Result {
	l.limits[b.shard] = 1
	return drain.Result{Rows: 1, More: true}
}

// failed goes back to the savepoint, which keeps the shard, and writes the verdict
// on the culprits in the same transaction. Where the connection went with the
// failure, the verdict comes afterwards in one of its own.
func (l *Line) failed(ctx context.Context, b *batch, failures []failure) (drain.Result, error) {
	l.limits[b.shard] = max(1, len(b.tasks)/2)
	f := failures[0]
	if b.e.hard.Err() != nil && errors.Is(f.err, context.Canceled) {
		return drain.Result{}, nil // cancelled is not failed
	}
	if errors.Is(f.err, ErrRefused) {
		return drain.Result{}, nil
	}
	if len(b.tasks) > 1 && slices.ContainsFunc(failures, failure.isStale) {
		return l.singly(b), nil // see staleTogether
	}
	switch f.class() {
	case txn.Serialization:
		if l.free(b.shard, f.task) {
			return l.singly(b), nil
		}
	case txn.Connection:
		return l.disconnected(b, f, true)
	case txn.Aborted: // some row before it passed over a failed statement
		if len(b.tasks) > 1 {
			return l.singly(b), nil
		}
	}
	if f.late() {
		b.t.Rollback() // the ping may need its connection
		if down := b.e.silent(f); down != nil {
			return drain.Result{}, down
		}
		return l.afterwards(b, f)
	}
	if err := b.t.RollbackTo(ctx); err != nil {
		return l.afterwards(b, f)
	}
	var rows []outbox.Row
	rulings := make([]ruling, len(failures))
	for i, f := range failures {
		r, err := b.e.ruleRow(ctx, b.t, f)
		if err != nil {
			return drain.Result{}, fmt.Errorf("verdict: %w", err)
		}
		rulings[i] = r
		rows = append(rows, r.rows...)
	}
	if err := l.st.Commit(ctx, b.t, rows); err != nil {
		return drain.Result{}, fmt.Errorf("verdict: %w", err)
	}
	if len(rows) > 0 {
		l.o.Wake()
	}
	for i, f := range failures {
		b.e.report(f, rulings[i])
		if !rulings[i].again {
			l.drained(b.e, f.task, rulings[i].outcome)
		}
	}
	return drain.Result{Rows: len(failures), More: true}, nil
}

// disconnected handles a failure that looks like a lost connection: while the store
// answers it is the handler's, and in the end counts as its attempt. known says that
// it is known whose it was.
func (l *Line) disconnected(b *batch, f failure, known bool) (drain.Result, error) {
	b.t.Rollback() // the ping may need its connection
	if down := b.e.ping(); down != nil {
		return drain.Result{}, outage{f.err, down}
	}
	if !known || l.free(b.shard, f.task) {
		return l.singly(b), nil
	}
	return l.afterwards(b, f)
}

// ruleRow writes the verdict on a backlog row that failed, was found stale, or
// cannot be decoded.
func (e *Engine) ruleRow(ctx context.Context, t *txn.Txn, f failure) (ruling, error) {
	if f.task.Bad != nil {
		return e.undecodable(ctx, t, f.task)
	}
	if errors.Is(f.err, errCrashed) {
		return e.crashed(ctx, t, f.task)
	}
	if !f.isStale() {
		return e.rule(ctx, t, f)
	}
	ours, err := e.ours(ctx, t, f.task, inbox.Done)
	if err != nil {
		return ruling{}, err
	}
	if ours {
		if err := e.st.Inbox().MarkStale(ctx, t, f.task.ID()); err != nil {
			return ruling{}, fmt.Errorf("mark stale: %w", err)
		}
	}
	return ruling{outcome: Stale}, e.leave(ctx, t, f.task)
}

// afterwards commits the verdict on f in a transaction of its own, on the condition
// that the message still waits.
func (l *Line) afterwards(b *batch, f failure) (drain.Result, error) {
	b.t.Rollback()
	r, err := b.e.once(func(ctx context.Context, t *txn.Txn) (ruling, error) { return b.e.ruleRow(ctx, t, f) })
	if errors.Is(err, errHeldElsewhere) && b.e.answers() {
		return drain.Result{Skipped: true}, nil
	}
	if err != nil {
		return drain.Result{}, fmt.Errorf("verdict: %w", err)
	}
	b.e.report(f, r)
	if !r.again {
		l.drained(b.e, f.task, r.outcome)
	}
	return drain.Result{Rows: 1, More: true}, nil
}

// broken sorts an error of our own statements after handlers have run: a lost
// connection while the store answers may be a handler's doing, and in the end
// counts as its attempt.
func (l *Line) broken(b *batch, err error) (drain.Result, error) {
	if txn.Classify(err) == txn.Aborted && len(b.tasks) > 1 {
		return l.singly(b), nil
	}
	if txn.Classify(err) == txn.Aborted && len(b.tasks) == 1 {
		return l.afterwards(b, failure{task: b.tasks[0], err: passedOver(err)})
	}
	if txn.Classify(err) != txn.Connection || len(b.tasks) == 0 {
		return drain.Result{}, err
	}
	return l.disconnected(b, failure{task: b.tasks[0], err: err}, len(b.tasks) == 1)
}

// passedOver says of an error that our own statement met with whose doing it is.
func passedOver(err error) error {
	return fmt.Errorf("a statement of the handler had failed, and the handler passed over its error: %w", err)
}

// free reports whether the row may be run again at no attempt's cost.
func (l *Line) free(shard int, task *Task) bool {
	if l.reruns[shard] == nil {
		l.reruns[shard] = make(map[int64]int)
	}
	l.reruns[shard][task.item.RowID]++
	return l.reruns[shard][task.item.RowID] <= maxReruns
}
