package batch

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/drain"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

// visit is one visit of a worker to a shard. It claims the rows of the shard.
type visit struct {
	w     *Worker
	shard int
	after int64
	t     *txn.Txn // of the current claim

	skipped bool // another process has the shard
	read    bool // rows were read at least once
	mark    int64
	more    bool
	rows    int
	// open are the places of rows that were read, by their ids, until their outcome is
	// committed.
	open map[int64]int64
	// passed are rows by strict order keys: those behind are left to another visit.
	passed map[backlog.OrderKey]int64
}

func (v *visit) reads(pt *part) bool { return pt.tasks == nil }
func (v *visit) runs() bool          { return true }

// result is the result for the drain. The mark stays below rows that have not moved;
// otherwise the rows behind would overtake them.
func (v *visit) result() drain.Result {
	mark := v.mark
	for _, place := range v.open {
		mark = min(mark, place-1)
	}
	return drain.Result{Mark: mark, Rows: v.rows, More: v.more || len(v.open) > 0, Skipped: v.skipped}
}

// claim locks the shard, reads rows, and moves the inbox rows of those that are to run.
func (v *visit) claim(ctx context.Context, t *txn.Txn, pt *part) (claimed, error) {
	v.t = t
	if v.skipped { // rows left to another process must not be overtaken
		pt.tasks = nil
		return claimed{}, nil
	}
	locked, err := v.lock(ctx, t)
	if err != nil {
		return claimed{}, fmt.Errorf("lock backlog shard: %w", err)
	}
	if !locked {
		v.skipped, pt.tasks = true, nil
		return claimed{}, nil
	}
	items, err := v.readRows(ctx, t, pt)
	if err != nil {
		return claimed{}, fmt.Errorf("read backlog: %w", err)
	}
	s := v.sort(items, pt)
	if len(s.keyless) > 0 {
		if c, err := v.resume(ctx, t, s.keyless); c.wrote || err != nil {
			return c, err
		}
	}
	answered, err := v.answers(ctx, t, s.missing)
	if err != nil {
		return claimed{}, err
	}
	if err := v.setAside(ctx, t, s); err != nil {
		return claimed{}, err
	}
	pt.tasks = s.tasks
	if len(s.tasks) == 0 {
		return claimed{settled: answered, wrote: len(s.leased)+len(s.behind) > 0, then: v.then(s)}, nil
	}
	if guard := v.w.p.Guard; guard != nil && guard.Advises() && !pt.advised {
		return claimed{read: true}, nil
	}
	task.InOrder(s.tasks)
	c, err := v.take(ctx, t, s)
	c.settled = answered
	return c, err
}

// resume gives rows their keys, in a transaction of its own: handlers do not run while it
// holds the keys.
func (v *visit) resume(ctx context.Context, t *txn.Txn, tasks []*task.Task) (claimed, error) {
	done, err := v.w.p.Recorder.Resume(ctx, t, tasks, outcome.Limits{Lock: v.w.p.LockTimeout})
	c := claimed{gone: done.Tasks, wrote: len(done.Tasks) > 0, copies: done.Copies, then: v.then(sorted{tasks: done.Tasks})}
	for i, one := range done.Tasks {
		c.settled = append(c.settled, settled{one, done.Outcomes[i]})
	}
	return c, err
}

// answers returns the outcomes of missing tasks whose COMMIT had no answer: it had
// happened.
func (v *visit) answers(ctx context.Context, t *txn.Txn, missing []*task.Task) (ended []settled, err error) {
	if len(missing) == 0 {
		return nil, nil
	}
	request := inbox.ClaimRequest{Limits: v.w.p.limits(v.w.timeout)} // it wins none: the inbox rows exist
	for _, id := range task.IDs(missing) {
		request.Claims = append(request.Claims, inbox.Claim{ID: id})
	}
	rows, err := v.w.p.Store.Inbox().Claim(ctx, t, request)
	if err != nil {
		return nil, fmt.Errorf("read what a commit without an answer did: %w", err)
	}
	for i, one := range missing {
		ended = append(ended, settled{one, one.OutcomeOf(rows[i].Entry)})
	}
	return ended, nil
}

// lock takes the shard. A visit that has read rows waits a little for it: after a lost
// connection the server may still hold the lock for that one, and a visit that ends loses
// its count of reruns.
func (v *visit) lock(ctx context.Context, t *txn.Txn) (bool, error) {
	for until := time.Now().Add(restTime); ; {
		locked, err := v.w.p.Store.Backlog().LockShard(ctx, t, v.w.consumer, v.shard, v.w.p.limits(v.w.timeout))
		if err != nil || locked || !v.read || time.Now().After(until) || !sleep.For(ctx, 10*time.Millisecond) {
			return locked, err
		}
	}
}

func (v *visit) readRows(ctx context.Context, t *txn.Txn, pt *part) ([]backlog.Item, error) {
	r := backlog.ReadRequest{
		Consumer: v.w.consumer, Shard: v.shard, After: v.after, Limit: v.w.p.MaxBatch, Bytes: v.w.bytes, Handlers: v.w.names,
	}
	if pt.tasks != nil {
		r.After, r.Rows = 0, outcome.RowIDs(pt.tasks)
	}
	return v.w.p.Store.Backlog().Read(ctx, t, r)
}

// sorted are the rows of a read, by what to do with them.
type sorted struct {
	keyless []*task.Task // to be resumed
	tasks   []*task.Task
	leased  []int64                   // to wait for a lease
	behind  []int64                   // to be blocked
	holds   map[backlog.OrderKey]bool // keys of behind
	names   map[string]bool
	// missing are tasks whose COMMIT had no answer, and whose rows are gone or have
	// changed.
	missing []*task.Task
}

// sort sorts rows into those that run in one transaction and those that are set aside. It
// sets the mark: no row is left below it.
func (v *visit) sort(items []backlog.Item, pt *part) sorted {
	s := sorted{names: make(map[string]bool), holds: make(map[backlog.OrderKey]bool)}
	known := make(map[int64]*task.Task, len(pt.tasks))
	for _, one := range pt.tasks {
		known[one.Item.RowID] = one
	}
	leasing := make(map[backlog.OrderKey]bool)
	room, left, mark := v.w.p.MaxBatch, false, v.after
	for i := range items {
		item := &items[i]
		h := v.w.handlers[item.Handler]
		key, strict := item.OrderKey()
		dealt := true
		switch {
		case h == nil:
			v.tell(item.Handler)
		case item.Delivery.Key == "":
			s.keyless = append(s.keyless, &task.Task{Handler: h, Item: item, Delivery: item.Delivery})
		case strict && v.passed[key] > 0 && item.RowID > v.passed[key]:
			dealt = false
			delete(known, item.RowID)
		case item.Behind, leasing[key] && strict:
			s.behind = append(s.behind, item.RowID)
			s.holds[key] = true
		case h.Leased != nil:
			s.leased, s.names[h.Name] = append(s.leased, item.RowID), true
			leasing[key] = strict
		default:
			one := known[item.RowID]
			if one != nil && !outcome.SameRun(one, &task.Task{Item: item}) {
				one = nil // the next run
			}
			if dealt = v.fits(s.tasks, h, &room); dealt {
				if one == nil {
					one = &task.Task{Handler: h}
				} else {
					delete(known, item.RowID)
				}
				one.Item, one.Delivery = item, item.Delivery
				one.Reruns = max(one.Reruns, item.Reruns)
				s.tasks = append(s.tasks, one)
			}
		}
		if left = left || !dealt; !left {
			mark = item.Place
		}
		if dealt && h != nil && !v.read {
			v.open[item.RowID] = item.Place
		}
	}
	s.missing = v.pass(pt.tasks, known)
	if !v.read {
		v.read, v.mark, v.more = true, mark, left || len(items) == v.w.p.MaxBatch || v.cut(items)
	}
	return s
}

// pass notes the order keys of tasks whose rows were not found as they were: known. It
// returns those whose COMMIT had no answer.
func (v *visit) pass(tasks []*task.Task, known map[int64]*task.Task) (missing []*task.Task) {
	for _, one := range tasks {
		if known[one.Item.RowID] != one {
			continue
		}
		if key, strict := one.StrictKey(); strict && (v.passed[key] == 0 || one.Item.RowID < v.passed[key]) {
			v.passed[key] = one.Item.RowID
		}
		if one.Unknown {
			missing = append(missing, one)
		}
	}
	return missing
}

// cut reports whether the read may have ended because of its size.
func (v *visit) cut(items []backlog.Item) bool {
	var bytes int64
	for i := range items {
		bytes += int64(len(items[i].Delivery.Payload))
	}
	return bytes >= v.w.bytes/2
}

// fits reports whether a message of h may run in the transaction of tasks. An Alone
// handler gets its own transaction.
func (v *visit) fits(tasks []*task.Task, h *task.Handler, room *int) bool {
	if len(tasks) > 0 && (h.Alone || tasks[0].Handler.Alone) {
		return false
	}
	if len(tasks) == 0 || tasks[len(tasks)-1].Handler != h {
		*room = min(*room, len(tasks)+h.Pace.Room(v.w.p.MaxBatch, v.w.p.BatchTime))
	}
	return len(tasks) < *room
}

func (v *visit) tell(handler string) {
	if _, before := v.w.told.LoadOrStore(handler, true); !before {
		v.w.unknown(handler)
	}
}

// setAside takes the rows out of the ready ones whose handlers do not run here.
func (v *visit) setAside(ctx context.Context, t *txn.Txn, s sorted) error {
	store := v.w.p.Store.Backlog()
	if len(s.leased) > 0 {
		if err := store.Leases.MoveToLeased(ctx, t, s.leased); err != nil {
			return fmt.Errorf("move to leased handlers: %w", err)
		}
	}
	if len(s.behind) > 0 {
		blocked, err := store.Order.Block(ctx, t, s.behind)
		if err != nil {
			return fmt.Errorf("block: %w", err)
		}
		if len(blocked) < len(s.behind) { // the row before them is just being ended: look again
			v.mark = min(v.mark, v.after)
		}
	}
	for _, one := range s.tasks { // ending such a task releases them
		if key, strict := one.Item.OrderKey(); strict && s.holds[key] {
			one.Item.Followed = true
		}
	}
	return nil
}

// then returns the function to call after the commit.
func (v *visit) then(s sorted) func([]*outcome.Failure) {
	return func(failures []*outcome.Failure) {
		v.rows += len(s.tasks) + len(s.leased) + len(s.behind)
		for _, rows := range [][]int64{outcome.RowIDs(s.tasks), s.leased, s.behind} {
			for _, id := range rows {
				delete(v.open, id)
			}
		}
		for _, t := range outcome.Held(failures) { // still ready, unless it was blocked
			v.open[t.Item.RowID] = t.Item.Place
		}
		for name := range s.names {
			v.w.leased(name)
		}
	}
}

// take moves the inbox rows.
func (v *visit) take(ctx context.Context, t *txn.Txn, s sorted) (claimed, error) {
	moved, err := v.w.p.Store.Inbox().Transition(ctx, t, task.IDs(s.tasks), inbox.Waiting, inbox.Done)
	if err != nil {
		return claimed{}, fmt.Errorf("waiting to done: %w", err)
	}
	ours := make(map[inbox.ID]bool, len(moved))
	for _, id := range moved {
		ours[id] = true
	}
	c := claimed{wrote: true, then: v.then(s)}
	for _, one := range s.tasks {
		if !ours[one.ID()] {
			c.gone = append(c.gone, one)
			continue
		}
		if one.Unknown {
			one.Reruns++
		}
		c.tasks = append(c.tasks, one)
	}
	err = v.w.p.Recorder.Unleased(ctx, t, c.tasks)
	for _, one := range c.tasks {
		one.Handler.Resolve(one)
	}
	return c, err
}
