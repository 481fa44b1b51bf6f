package storetest

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

var orderTests = []test{
	{name: "Waiting names the keys with strict rows on any line", run: orderWaiting},
	{name: "Waiting sees what was committed before the lock was granted", run: orderHole, needs: concurrentWriters},
	{name: "Lock excludes another transaction until the end", run: orderExcludes, needs: concurrentWriters},
	{name: "Lock in opposite order never deadlocks", run: orderCross, needs: concurrentWriters},
	{name: "Lock in any order never deadlocks", run: orderNeverDeadlocks},
	{name: "Release makes exactly the oldest blocked row ready", run: orderRelease},
	{name: "Release leaves all blocked while a row is ready or delayed", run: orderReleaseNot},
	{name: "a released row stands above the marks", run: orderReleaseMark},
}

func orderKey(key string) backlog.OrderKey { return backlog.OrderKey{Scope: scope, Key: key} }

func (b *bundle) lockOrder(t *txn.Txn, keys ...string) {
	b.Helper()
	list := make([]backlog.OrderKey, len(keys))
	for i, key := range keys {
		list[i] = orderKey(key)
	}
	if err := b.Store.Backlog().Order.Lock(b.ctx, t, list); err != nil {
		b.Fatalf("Lock: %v", err)
	}
}

func (b *bundle) wantWaiting(t *txn.Txn, asked []string, want ...string) {
	b.Helper()
	list := make([]backlog.OrderKey, len(asked))
	for i, key := range asked {
		list[i] = orderKey(key)
	}
	got, err := b.Store.Backlog().Order.Waiting(b.ctx, t, list)
	if err != nil {
		b.Fatalf("Waiting: %v", err)
	}
	var keys []string
	for _, k := range got {
		if k.Scope != scope {
			b.Errorf("Waiting returned %+v", k)
		}
		keys = append(keys, k.Key)
	}
	sorted := cmpopts.SortSlices(func(a, b string) bool { return a < b })
	if diff := cmp.Diff(want, keys, sorted, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("waiting of %q (-want +got):\n%s", asked, diff)
	}
}

func (b *bundle) release(t *txn.Txn, key string) {
	b.Helper()
	if err := b.Store.Backlog().Order.Release(b.ctx, t, orderKey(key)); err != nil {
		b.Fatalf("Release: %v", err)
	}
}

func orderWaiting(b *bundle) {
	late, loose, other := ordered("late", "delayed"), ordered("loose", "loose"), ordered("theirs", "theirs")
	late.Delay, loose.Strict, other.Delivery.Scope = time.Hour, false, "billing/orders"
	b.wait(late, loose, other, ordered("ready", "ready"), ordered("head", "both"))
	b.wait(blocked("tail", "both"))
	b.in(func(t *txn.Txn) {
		asked := []string{"ready", "nobody", "theirs", "loose", "delayed", "both"}
		b.lockOrder(t, asked...)
		b.wantWaiting(t, asked, "ready", "delayed", "both")
		b.wantWaiting(t, []string{"nobody"})
		b.wantWaiting(t, nil)
		b.lockOrder(t)
	})
}

// orderHole: without the lock a waiting that is not committed yet is invisible,
// and the second message is applied before the first (DESIGN section 3, Order).
func orderHole(b *bundle) {
	first, second := b.begin(), b.begin()
	b.win(second, "m2") // has its claim, and a snapshot, before it waits
	b.lockOrder(first, "k")
	m1 := ordered("m1", "k")
	m1.Delay = time.Hour
	b.waitIn(first, m1)
	granted := make(chan error, 1)
	var wait sync.WaitGroup
	wait.Go(func() {
		granted <- b.Store.Backlog().Order.Lock(b.ctx, second, []backlog.OrderKey{orderKey("j"), orderKey("k")})
	})
	b.awaitWaiters(1)
	b.commit(first)
	b.must(receive(b, granted))
	wait.Wait()
	b.wantWaiting(second, []string{"j", "k"}, "k")
	second.Rollback()
}

func orderExcludes(b *bundle) {
	for name, end := range map[string]func(*txn.Txn){
		"commit": func(t *txn.Txn) { b.commit(t) }, "rollback": (*txn.Txn).Rollback, "discard": (*txn.Txn).Discard,
	} {
		holder, free, waiter := b.begin(), b.begin(), b.begin()
		b.lockOrder(holder, "k", "l")
		b.lockOrder(free, "m")
		b.must(b.Store.Backlog().Order.Lock(b.ctx, free, []backlog.OrderKey{{Scope: "bill/orders.paid", Key: "k"}}))
		granted := make(chan error, 1)
		var wait sync.WaitGroup
		wait.Go(func() { granted <- b.Store.Backlog().Order.Lock(b.ctx, waiter, []backlog.OrderKey{orderKey("l")}) })
		b.awaitWaiters(1)
		select {
		case err := <-granted:
			b.Fatalf("before %s: two hold an order key (%v)", name, err)
		default:
		}
		end(holder)
		b.must(receive(b, granted))
		wait.Wait()
		waiter.Rollback()
		free.Rollback()
	}
}

func orderCross(b *bundle) {
	keys := []backlog.OrderKey{orderKey("a"), orderKey("m"), orderKey("z")}
	for _, middle := range keys { // whatever the order that the store has
		b.crossed(func(t *txn.Txn) { b.lockOrder(t, middle.Key) }, func(t *txn.Txn, backward bool) error {
			mine := slices.DeleteFunc(slices.Clone(keys), func(k backlog.OrderKey) bool { return k == middle })
			mine = slices.Insert(mine, 1, middle)
			if backward {
				slices.Reverse(mine)
			}
			return b.Store.Backlog().Order.Lock(b.ctx, t, mine)
		})
	}
}

func orderNeverDeadlocks(b *bundle) {
	const workers, rounds = 8, 12
	keys := make([]backlog.OrderKey, 16)
	for i := range keys {
		keys[i] = orderKey(fmt.Sprint("key-", i))
	}
	var wait sync.WaitGroup
	for w := range workers {
		wait.Go(func() {
			random := rand.New(rand.NewPCG(uint64(w), 2))
			for range rounds {
				some := make([]backlog.OrderKey, 0, 8)
				for _, i := range random.Perm(len(keys))[:8] {
					some = append(some, keys[i])
				}
				t, err := b.Store.Begin(b.ctx)
				if err == nil {
					err = b.Store.Backlog().Order.Lock(b.ctx, t, some)
					t.Rollback()
				}
				if err != nil {
					b.Errorf("worker %d: %v", w, err)
					return
				}
			}
		})
	}
	wait.Wait()
}

func orderRelease(b *bundle) {
	b.wait(ordered("m1", "k"), ordered("n1", "j"))
	b.wait(blocked("m2", "k"), blocked("n2", "j"))
	b.wait(blocked("m3", "k"))
	for _, step := range []struct{ done, next string }{{"m1", "m2"}, {"m2", "m3"}} {
		b.in(func(t *txn.Txn) {
			b.lockOrder(t, "k")
			b.move(t, inbox.Waiting, inbox.Done, step.done)
			b.remove(t, step.done)
			b.release(t, "k")
		})
		b.in(func(t *txn.Txn) {
			b.wantKeys("ready of k", b.read(t, shard.Of("k"), 0, 10), step.next)
			b.wantKeys("ready of j", b.read(t, shard.Of("j"), 0, 10), "n1")
		})
	}
	b.in(func(t *txn.Txn) { b.release(t, "nobody") })
}

func orderReleaseNot(b *bundle) {
	late := ordered("late", "delayed")
	late.Delay = time.Hour
	b.wait(late, ordered("head", "ready"))
	b.wait(blocked("behind late", "delayed"), blocked("behind head", "ready"))
	b.in(func(t *txn.Txn) {
		b.release(t, "delayed")
		b.release(t, "ready")
	})
	b.wantKeys("ready", b.ready(), "head")
	if d, err := b.Store.Backlog().Depth(b.ctx, consumer); err != nil || d.Blocked != 2 || d.Delayed != 1 {
		b.Errorf("depth %+v, %v", d, err)
	}
}

func orderReleaseMark(b *bundle) {
	b.wait(ordered("m1", "k"))
	b.wait(blocked("m2", "k"))
	b.wait(ordered("other", "other"))
	var mark int64
	b.in(func(t *txn.Txn) {
		for _, i := range b.readAll(t) {
			mark = max(mark, i.RowID)
		}
		b.move(t, inbox.Waiting, inbox.Done, "m1")
		b.remove(t, "m1")
		b.release(t, "k")
	})
	b.in(func(t *txn.Txn) { b.wantKeys("above the mark", b.read(t, shard.Of("k"), mark, 10), "m2") })
}
