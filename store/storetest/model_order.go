package storetest

import (
	"fmt"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

// orders is a model of some strict order keys and their workers, beside the store that has
// their rows. It knows which rows are unfinished, and nothing of how the store keeps them.
type orders struct {
	b        *bundle
	rt       *rapid.T
	consumer string
	scope    string
	puts     int
	ahead    *time.Duration           // of the database's clock; all runs have one
	waiting  map[string][]string      // order key → keys of the unfinished rows, in order
	marks    [backlog.Shards]int64    // of the one worker
	leases   map[string]backlog.Lease // order key → what is held
}

var orderKeys = []string{"a", "b", "c"}

// leaseTerm is how long a lease of the model lasts, and a delay.
const leaseTerm = time.Hour

// modelOrder: rows of a key are finished in the order in which they were put, whatever
// happens to them, and a worker that never looks below its marks comes to all of them
// without a sweep.
//
//evidence:strict
func modelOrder(b *bundle) {
	runs, ahead := 0, time.Duration(0)
	rapid.Check(b.T, func(rt *rapid.T) {
		runs++
		o := &orders{b: b, rt: rt, ahead: &ahead, consumer: fmt.Sprint("orders", runs), waiting: make(map[string][]string), leases: make(map[string]backlog.Lease)}
		o.scope = o.consumer + "/" + handler
		for range rapid.IntRange(1, 40).Draw(rt, "steps") {
			step := rapid.SampledFrom(orderSteps).Draw(rt, "step")
			key := rapid.SampledFrom(orderKeys).Draw(rt, "key")
			if o.draw("time", 0, 2) == 0 {
				o.wait()
			}
			o.in(rapid.IntRange(0, 5).Draw(rt, "crash") == 0, func(t *txn.Txn) func() { return step.run(o, t, key) })
		}
		o.drain()
	})
}

// orderStep does one thing in t, and returns what changes the model if t commits; nil
// where it did nothing.
type orderStep struct {
	name string
	run  func(o *orders, t *txn.Txn, key string) func()
}

func (s orderStep) String() string { return s.name }

var orderSteps = []orderStep{
	{"put", (*orders).put},
	{"work", (*orders).work},
	{"promote", (*orders).promote},
	{"lease", (*orders).lease},
	{"end a lease", (*orders).endLease},
	{"sweep", (*orders).sweep},
}

// in runs a step in a transaction. The function that it returns changes the model, when
// the transaction has committed; a crash rolls back.
func (o *orders) in(crash bool, step func(t *txn.Txn) func()) {
	t, err := o.b.Store.Begin(o.b.ctx)
	o.must("begin", err)
	defer t.Rollback()
	change := step(t)
	if crash || change == nil {
		return
	}
	o.must("commit", o.b.Store.Commit(o.b.ctx, t, nil))
	change()
}

func (o *orders) must(what string, err error) {
	if err != nil {
		o.rt.Fatalf("%s: %v", what, err)
	}
}

func (o *orders) draw(name string, from, to int) int {
	return rapid.IntRange(from, to).Draw(o.rt, name)
}

// wait has the time of a delay, or of a lease, go by.
func (o *orders) wait() {
	*o.ahead += leaseTerm
	o.must("shift", o.b.Shift(o.b.ctx, *o.ahead))
}

func (o *orders) put(t *txn.Txn, key string) func() {
	var items []backlog.Item
	var claims []inbox.Claim
	var keys []string
	for n := range o.draw("rows", 1, 3) {
		i := ordered(fmt.Sprint(key, o.puts+n), key)
		i.Consumer, i.Delivery.Scope = o.consumer, o.scope
		if o.draw("later", 0, 3) == 0 {
			i.Delay = leaseTerm
		}
		items, keys = append(items, i), append(keys, i.Delivery.Key)
		claims = append(claims, inbox.Claim{ID: inbox.ID{Scope: o.scope, Key: i.Delivery.Key}, Fingerprint: "f"})
	}
	o.puts += len(items)
	_, err := o.b.Store.Inbox().Claim(o.b.ctx, t, inbox.ClaimRequest{Claims: claims, Waiting: true})
	o.must("claim", err)
	o.must("put", o.b.Store.Backlog().Put(o.b.ctx, t, items))
	return func() { o.waiting[key] = append(o.waiting[key], keys...) }
}

// work reads some rows of a key's shard, and handles those that are not behind others.
func (o *orders) work(t *txn.Txn, key string) func() {
	return o.workOff(t, key, o.draw("limit", 1, 4), func() int { return o.draw("outcome", 0, 3) })
}

// What becomes of a row that is handled.
const (
	postponed = iota
	madeLeasable
	done // and all above
)

func (o *orders) workOff(t *txn.Txn, key string, limit int, outcome func() int) func() {
	n := shard.Of(key)
	got, err := o.b.Store.Backlog().LockShard(o.b.ctx, t, o.consumer, n, txn.Limits{})
	if err != nil || !got {
		o.rt.Fatalf("lock shard: %t, %v", got, err)
	}
	r := reading(n, o.marks[n], limit)
	r.Consumer = o.consumer
	rows, err := o.b.Store.Backlog().Read(o.b.ctx, t, r)
	o.must("read", err)
	batch := orderBatch{finished: make(map[string]int), stopped: make(map[string]int64), followed: make(map[string]bool)}
	for _, row := range rows {
		k := row.Delivery.OrderKey
		batch.followed[k] = batch.followed[k] || row.Followed
		switch stopped, ok := batch.stopped[k]; {
		case row.Behind || ok && stopped < row.RowID:
			batch.behind = append(batch.behind, row)
		case o.handle(t, row, batch.finished[k], outcome()):
			batch.finished[k]++
		default:
			batch.stopped[k] = row.RowID
		}
	}
	left := o.block(t, &batch)
	for k := range batch.finished {
		if _, stopped := batch.stopped[k]; batch.followed[k] && !stopped {
			o.release(t, k)
		}
	}
	return func() {
		for _, row := range rows {
			o.marks[n] = max(o.marks[n], row.Place)
		}
		for _, row := range left { // is looked at again
			o.marks[n] = min(o.marks[n], row.Place-1)
		}
		for k, n := range batch.finished {
			o.waiting[k] = o.waiting[k][n:]
		}
	}
}

// orderBatch is what becomes of some rows of a shard.
type orderBatch struct {
	finished map[string]int   // rows of a key
	stopped  map[string]int64 // the row of a key that was handled, and is not finished
	followed map[string]bool  // keys with blocked rows
	behind   []backlog.Item   // rows that must not run yet
}

// block blocks the rows that are behind others, and returns those that it left because the
// earlier row was finished in the same transaction.
func (o *orders) block(t *txn.Txn, batch *orderBatch) (left []backlog.Item) {
	var ids []int64
	for _, row := range batch.behind {
		ids = append(ids, row.RowID)
	}
	blocked, err := o.b.Store.Backlog().Order.Block(o.b.ctx, t, ids)
	o.must("block", err)
	for _, row := range batch.behind {
		k := row.Delivery.OrderKey
		switch {
		case slices.Contains(blocked, row.RowID):
			batch.followed[k] = true
		case batch.finished[k] == 0:
			o.rt.Fatalf("%s is not blocked, and no row before it was finished", row.Delivery.Key)
		default:
			left = append(left, row)
		}
	}
	return left
}

// handle has a row run that is the first of its key behind the n that were finished in t,
// and reports whether it is finished.
func (o *orders) handle(t *txn.Txn, row backlog.Item, n, outcome int) bool {
	if waiting := o.waiting[row.Delivery.OrderKey]; len(waiting) <= n || waiting[n] != row.Delivery.Key {
		o.rt.Fatalf("%s runs, while these wait: %s", row.Delivery.Key, waiting[n:])
	}
	switch outcome {
	case postponed:
		o.reschedule(t, row, leaseTerm)
		return false
	case madeLeasable:
		o.must("move to leased", o.b.leases().MoveToLeased(o.b.ctx, t, []int64{row.RowID}))
		return false
	}
	o.finish(t, row)
	return true
}

func (o *orders) finish(t *txn.Txn, row backlog.Item) {
	_, err := o.b.Store.Inbox().Transition(o.b.ctx, t, []inbox.ID{{Scope: o.scope, Key: row.Delivery.Key}}, inbox.Waiting, inbox.Done)
	o.must("transition", err)
	o.must("delete", o.b.Store.Backlog().Delete(o.b.ctx, t, []int64{row.RowID}))
}

func (o *orders) reschedule(t *txn.Txn, row backlog.Item, delay time.Duration) {
	o.must("reschedule", o.b.Store.Backlog().Reschedule(o.b.ctx, t, []backlog.Change{{RowID: row.RowID, Delay: delay, Attempt: 1}}))
}

func (o *orders) release(t *txn.Txn, key string) {
	o.must("release", o.b.Store.Backlog().Order.Release(o.b.ctx, t, []backlog.OrderKey{{Scope: o.scope, Key: key}}, 2))
}

func (o *orders) promote(t *txn.Txn, _ string) func() {
	_, err := o.b.Store.Backlog().Promote(o.b.ctx, t, o.consumer, o.draw("promote", 1, 3))
	o.must("promote", err)
	return func() {}
}

// lease claims a row: one that waits for it, or one whose lease has ended.
func (o *orders) lease(t *txn.Txn, _ string) func() {
	token := fmt.Sprint("token", o.puts, o.draw("token", 0, 1<<30))
	items, err := o.b.leases().Claim(o.b.ctx, t, o.consumer, handler, token, leaseTerm, 1)
	o.must("claim leases", err)
	if len(items) == 0 {
		return nil
	}
	key := items[0].Delivery.OrderKey
	if items[0].Delivery.Key != o.waiting[key][0] {
		o.rt.Fatalf("%s is leased, while these wait: %s", items[0].Delivery.Key, o.waiting[key])
	}
	return func() { o.leases[key] = backlog.Lease{RowID: items[0].RowID, Token: token} }
}

// endLease ends the work under a lease of key: it is done, fails, or runs again at once.
func (o *orders) endLease(t *txn.Txn, key string) func() {
	return o.endLeaseWith(t, key, o.draw("end", 0, 3))
}

func (o *orders) endLeaseWith(t *txn.Txn, key string, outcome int) func() {
	l, ok := o.leases[key]
	if !ok {
		return nil
	}
	held, err := o.b.leases().Fence(o.b.ctx, t, l, txn.Limits{})
	if err != nil || !held {
		o.rt.Fatalf("the lease of %s: %t, %v", o.waiting[key][0], held, err)
	}
	row := backlog.Item{RowID: l.RowID, Delivery: headrace.Delivery{Key: o.waiting[key][0]}}
	if outcome < done {
		o.reschedule(t, row, time.Duration(outcome)*leaseTerm)
		return func() { delete(o.leases, key) }
	}
	o.finish(t, row)
	o.release(t, key)
	return func() {
		delete(o.leases, key)
		o.waiting[key] = o.waiting[key][1:]
	}
}

func (o *orders) sweep(t *txn.Txn, _ string) func() {
	_, err := o.b.Store.Backlog().Order.Sweep(o.b.ctx, t, o.consumer, 1)
	o.must("sweep", err)
	return func() {}
}

// drain works everything off: each round finishes one row of each key at least.
func (o *orders) drain() {
	for range 2*o.puts + 4 {
		o.wait()
		o.in(false, o.promoteAll)
		for _, key := range orderKeys {
			o.in(false, func(t *txn.Txn) func() { return o.lease(t, key) })
			o.in(false, func(t *txn.Txn) func() { return o.endLeaseWith(t, key, done) })
			o.in(false, func(t *txn.Txn) func() { return o.workOff(t, key, 2, func() int { return done }) })
		}
		if d, err := o.b.Store.Backlog().Depth(o.b.ctx, o.consumer); err != nil || d == (backlog.Depth{}) {
			o.must("depth", err)
			break
		}
	}
	for key, waiting := range o.waiting {
		if len(waiting) > 0 {
			o.rt.Fatalf("these rows of %s are never run: %s", key, waiting)
		}
	}
}

func (o *orders) promoteAll(t *txn.Txn) func() {
	_, err := o.b.Store.Backlog().Promote(o.b.ctx, t, o.consumer, 1000)
	o.must("promote", err)
	return func() {}
}
