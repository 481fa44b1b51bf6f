package group

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Line is the backlog of a consumer as the drain works it off. It is used by one
// drain.
//
// Rule: a row's inbox row goes from Waiting to Done before its handler runs, in the
// same transaction; where it does not move, somebody else finished the message, and
// the backlog row is dropped.
type Line struct {
	consumer string
	st       Store
	engines  map[string]*Engine // by handler
	o        *Options
	soft     context.Context
	// Unknown is told of a row whose handler is not registered here.
	Unknown func(handler string)

	// One Work at a time uses the element of its shard.
	limits [backlog.Shards]int
	reruns [backlog.Shards]map[int64]int
}

// NewLine returns the backlog of consumer, whose rows are for engines.
func NewLine(soft context.Context, consumer string, st Store, engines map[string]*Engine, o *Options) *Line {
	return &Line{consumer: consumer, st: st, engines: engines, o: o, soft: soft, Unknown: func(string) {}}
}

const (
	// promoteLimit bounds the rows that one look makes ready.
	promoteLimit = 1000
	// unknownPause keeps a row whose handler is not registered here out of the way:
	// another process, or the next version of this one, may know it.
	unknownPause = time.Minute
)

// Poll implements drain.Line. It writes only where rows have become due.
func (l *Line) Poll(ctx context.Context, marks []int64) (drain.Polled, error) {
	ctx, cancel := context.WithTimeout(ctx, l.o.Patience)
	defer cancel()
	found, err := l.st.Backlog().Poll(ctx, l.consumer, marks)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("poll backlog: %w", err)
	}
	if !found.Due {
		return drain.Polled{Shards: found.Shards, Next: found.Next}, nil
	}
	if err := l.promote(ctx); err != nil {
		return drain.Polled{}, err
	}
	found, err = l.st.Backlog().Poll(ctx, l.consumer, marks)
	if err != nil {
		return drain.Polled{}, fmt.Errorf("poll backlog: %w", err)
	}
	next := found.Next
	if found.Due {
		next = time.Millisecond
	}
	return drain.Polled{Shards: found.Shards, Next: next}, nil
}

func (l *Line) promote(ctx context.Context) error {
	t, err := l.st.Begin(ctx)
	if err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	defer t.Rollback()
	if _, err := l.st.Backlog().Promote(ctx, t, l.consumer, promoteLimit); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	if err := l.st.Commit(ctx, t, nil); err != nil {
		return fmt.Errorf("promote: %w", err)
	}
	return nil
}

// batch is what one Work has in hand.
type batch struct {
	e     *Engine
	t     *txn.Txn
	shard int
	tasks []*Task // of one handler, in order
	gone  []*Task // rows whose message somebody else finished
	mark  int64   // the highest row that was taken up
	more  bool
}

// Work implements drain.Line.
func (l *Line) Work(ctx context.Context, shard int, after int64) (drain.Result, error) {
	if l.o.careless() {
		return l.work(ctx, shard, after, nil)
	}
	return l.workWithCare(ctx, shard, after)
}

// work is Work for the messages only; nil means all.
func (l *Line) work(ctx context.Context, shard int, after int64, only []inbox.ID) (drain.Result, error) {
	begin, cancel := context.WithTimeout(ctx, l.o.Patience) // no handler has begun
	defer cancel()
	t, err := l.st.Begin(begin)
	if err != nil {
		return drain.Result{}, fmt.Errorf("work backlog: %w", err)
	}
	defer t.Rollback()
	b, result, err := l.take(begin, t, shard, after)
	if b == nil {
		return result, err
	}
	if only != nil && !b.keep(only) {
		return drain.Result{}, nil
	}
	defer b.undone()
	bad, err := l.open(begin, b)
	if err != nil && heldUp(begin, err) {
		return l.skip(begin, b)
	}
	if err != nil {
		return drain.Result{}, err
	}
	start := time.Now()
	var out invoked
	switch {
	case bad != nil:
		out.failures = []failure{*bad}
	case len(b.tasks) > 0:
		out = b.e.invoke(t, b.tasks)
	}
	own, cancel := context.WithTimeout(context.WithoutCancel(ctx), l.o.Patience)
	defer cancel()
	if out.abandoned {
		t.Discard()
	}
	if out.unclear != nil {
		return l.singly(b), nil
	}
	if len(out.failures) > 0 {
		return l.failed(own, b, out.failures)
	}
	result, err = l.finish(own, b, out.events)
	if err == nil {
		b.e.took(time.Since(start), len(b.tasks))
	}
	return result, err
}

// heldUp reports whether a statement under ctx failed because others work on the same
// rows or order keys.
func heldUp(ctx context.Context, err error) bool {
	c := txn.Classify(err)
	return c == txn.Serialization || c == txn.LockTimeout || ctx.Err() != nil
}

// skip leaves the batch to another time, unless it is the store that does not answer.
func (l *Line) skip(ctx context.Context, b *batch) (drain.Result, error) {
	b.t.Rollback() // the ping may need its connection
	if ctx.Err() != nil {
		if down := b.e.ping(); down != nil {
			return drain.Result{}, fmt.Errorf("work backlog: %w", down)
		}
	}
	return drain.Result{Skipped: true}, nil
}

// take locks the shard and reads a batch of one handler. Without a batch, the
// result and the error are those of Work.
func (l *Line) take(ctx context.Context, t *txn.Txn, shard int, after int64) (*batch, drain.Result, error) {
	locked, err := l.st.Backlog().LockShard(ctx, t, l.consumer, shard, l.idle())
	if err != nil {
		return nil, drain.Result{}, fmt.Errorf("lock backlog shard: %w", err)
	}
	if !locked {
		return nil, drain.Result{Skipped: true}, nil
	}
	limit := l.o.MaxBatch
	if l.limits[shard] > 0 {
		limit = min(limit, l.limits[shard])
	}
	items, err := l.st.Backlog().Read(ctx, t, l.consumer, shard, after, limit)
	if err != nil {
		return nil, drain.Result{}, fmt.Errorf("read backlog: %w", err)
	}
	if len(items) == 0 {
		return nil, drain.Result{}, nil
	}
	if rows, leasers := l.leased(items); len(rows) > 0 {
		return l.divert(ctx, t, rows, leasers)
	}
	e := l.engines[items[0].Handler]
	if e == nil {
		return l.setAside(ctx, t, items[0])
	}
	b := &batch{e: e, t: t, shard: shard, more: len(items) == limit}
	room := min(e.room(), limit)
	for i := range items {
		if items[i].Handler != e.h.Name || len(b.tasks) == room {
			b.more = true
			break
		}
		b.tasks = append(b.tasks, &Task{Delivery: items[i].Delivery, item: &items[i]})
		b.mark = items[i].RowID
	}
	return b, drain.Result{}, nil
}

// idle is the longest of the handlers' bounds: which of them will run is not known
// before the shard is read.
func (l *Line) idle() (longest time.Duration) {
	for _, e := range l.engines {
		longest = max(longest, e.idle())
	}
	return longest
}

// setAside puts a row off whose handler is not registered here.
func (l *Line) setAside(ctx context.Context, t *txn.Txn, item backlog.Item) (*batch, drain.Result, error) {
	l.Unknown(item.Handler)
	if err := l.st.Backlog().Reschedule(ctx, t, item.RowID, unknownPause, item.Delivery.Attempt); err != nil {
		return nil, drain.Result{}, fmt.Errorf("put off a row without handler: %w", err)
	}
	if err := l.st.Commit(ctx, t, nil); err != nil {
		return nil, drain.Result{}, fmt.Errorf("put off a row without handler: %w", err)
	}
	return nil, drain.Result{Rows: 1, More: true}, nil
}

// open takes the order keys, sets the savepoint that keeps the shard when a handler
// fails, and marks the messages done. It returns the first that cannot be decoded.
func (l *Line) open(ctx context.Context, b *batch) (*failure, error) {
	if b.e.h.Strict {
		if _, err := b.e.lockOrder(ctx, b.t, b.tasks); err != nil {
			return nil, err
		}
	}
	if err := b.t.Savepoint(ctx); err != nil {
		return nil, fmt.Errorf("savepoint: %w", err)
	}
	ids := make([]inbox.ID, len(b.tasks))
	for i, task := range b.tasks {
		ids[i] = task.ID()
	}
	moved, err := l.st.Inbox().Transition(ctx, b.t, ids, inbox.Waiting, inbox.Done)
	if err != nil {
		return nil, fmt.Errorf("waiting to done: %w", err)
	}
	ours := make(map[inbox.ID]bool, len(moved))
	for _, id := range moved {
		ours[id] = true
	}
	var tasks []*Task
	for _, task := range b.tasks {
		if !ours[task.ID()] {
			b.gone = append(b.gone, task)
			continue
		}
		if task.Body, task.Bad = b.e.h.decode(&task.Delivery); task.Bad != nil {
			return &failure{task: task, err: task.Bad}, nil
		}
		tasks = append(tasks, task)
	}
	b.tasks = tasks
	byOrder(b.tasks)
	return nil, nil
}

// finish takes the rows out and commits.
func (l *Line) finish(ctx context.Context, b *batch, events []outbox.Row) (drain.Result, error) {
	ended := append(b.gone, b.tasks...)
	rows := make([]int64, len(ended))
	for i, task := range ended {
		rows[i] = task.item.RowID
	}
	if err := l.st.Backlog().Delete(ctx, b.t, rows); err != nil {
		return l.broken(b, fmt.Errorf("leave the backlog: %w", err))
	}
	released := make(map[backlog.OrderKey]bool)
	for _, task := range ended {
		key := task.order()
		if !task.item.Strict || key.Key == "" || released[key] {
			continue
		}
		released[key] = true
		if err := l.st.Backlog().Order.Release(ctx, b.t, key); err != nil {
			return l.broken(b, fmt.Errorf("release the order key: %w", err))
		}
	}
	err := l.st.Commit(ctx, b.t, events)
	switch {
	case errors.Is(err, inbox.ErrSwitched):
		l.o.Fatal(fmt.Errorf("handler %s: %w", b.e.h.Scope, err))
		return drain.Result{}, err
	case errors.Is(err, txn.ErrRolledBack) && len(b.tasks) > 1:
		return l.singly(b), nil
	case errors.Is(err, txn.ErrRolledBack) && len(b.tasks) == 1:
		return l.afterwards(b, failure{task: b.tasks[0], err: err})
	case err != nil:
		return l.broken(b, err)
	}
	l.limits[b.shard] = min(2*l.limits[b.shard], l.o.MaxBatch)
	l.reruns[b.shard] = nil
	if len(events) > 0 {
		l.o.Wake()
	}
	for _, task := range b.tasks {
		l.drained(b.e, task, Applied)
	}
	return drain.Result{Mark: b.mark, Rows: len(rows), More: b.more}, nil
}

var _ drain.Line = (*Line)(nil)
