package storetest

import (
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/store/txn"
)

var leaseTests = []test{
	{name: "rows that wait for a lease are not ready, and are claimed by place", run: leaseMove},
	{name: "a claim gives every field, byte for byte", run: leaseKeeps},
	{name: "two claimers share the rows", run: leaseShared},
	{name: "claimers of many processes take each row once", run: leaseRace},
	{name: "a lease that has ended is taken over, and lost", run: leaseTakeover},
	{name: "what was given back counts no start and is not lost", run: leaseGiveBack},
	{name: "Extend moves the end, and tells what is lost", run: leaseExtend},
	{name: "Look tells handlers apart, and when a lease ends", run: leaseLook},
	{name: "Reschedule ends a lease", run: leaseReschedule},
	{name: "MoveBack makes the rows of a handler ready that is not leased any more", run: leaseMoveBack},
	{name: "those whose lease has ended come before those that wait", run: leaseEndedFirst},
	{name: "Depth counts what is leased", run: leaseDepth},
}

func (b *bundle) leases() backlog.Leases { return b.Store.Backlog().Leases }

// leaseOf names a lease of the row of key.
func (b *bundle) leaseOf(key, token string) backlog.Lease {
	b.Helper()
	return backlog.Lease{RowID: b.rowID(b.DB, key), Token: token}
}

// offer puts items into the backlog and has them wait for a lease.
func (b *bundle) offer(items ...backlog.Item) {
	b.Helper()
	b.wait(items...)
	b.in(func(t *txn.Txn) { b.toLeased(t) })
}

// toLeased has all ready rows wait for a lease.
func (b *bundle) toLeased(t *txn.Txn) {
	b.Helper()
	b.must(b.leases().MoveToLeased(b.ctx, t, rowIDs(b.readAll(t))))
}

// lease claims in a transaction of its own.
func (b *bundle) lease(token string, term time.Duration, limit int) (items []backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) { items = b.leaseIn(t, token, term, limit) })
	return items
}

func (b *bundle) leaseIn(t *txn.Txn, token string, term time.Duration, limit int) []backlog.Item {
	b.Helper()
	items, err := b.leases().Claim(b.ctx, t, consumer, handler, token, term, limit)
	if err != nil {
		b.Fatalf("Claim: %v", err)
	}
	return items
}

func (b *bundle) look() (bool, time.Duration) {
	b.Helper()
	found, next, err := b.leases().Look(b.ctx, consumer, handler)
	if err != nil {
		b.Fatalf("Look: %v", err)
	}
	return found, next
}

// fence asks in t whether the lease is held.
func (b *bundle) fence(t *txn.Txn, key, token string) bool {
	b.Helper()
	held, err := b.leases().Fence(b.ctx, t, b.leaseOf(key, token), txn.Limits{})
	if err != nil {
		b.Fatalf("Fence: %v", err)
	}
	return held
}

func leaseMove(b *bundle) {
	b.offer(item("a"), item("b"), item("c"))
	b.wantKeys("ready", b.ready())
	if p := b.poll(nil); len(p.Shards) != 0 || p.Due || p.Next != 0 {
		b.Errorf("the backlog is polled for rows that wait for a lease: %+v", p)
	}
	if found, _ := b.look(); !found {
		b.Error("Look does not find them")
	}
	b.wantKeys("the first two", b.lease("t1", time.Hour, 2), "a", "b")
	b.wantKeys("the rest", b.lease("t2", time.Hour, 2), "c")
	b.wantKeys("none is left", b.lease("t3", time.Hour, 2))
	b.in(func(t *txn.Txn) {
		b.must(b.leases().MoveToLeased(b.ctx, t, nil))
		b.must(b.leases().GiveBack(b.ctx, t, nil))
		if some, more, err := b.leases().Extend(b.ctx, t, nil, time.Hour); err != nil || some != nil || more != nil {
			b.Errorf("Extend of nothing: %v, %v, %v", some, more, err)
		}
	})
}

func leaseKeeps(b *bundle) {
	var want []backlog.Item
	for n, a := range awkward {
		i := ordered(a.name, "order "+a.name)
		i.Delivery.Payload, i.Delivery.Metadata, i.Delivery.Attempt = a.payload, a.metadata, n+2
		i.Strict, i.Spent, i.Reruns, i.LetterID, i.Redrives = n%2 == 0, n, n+3, int64(n)<<33, n+1
		want = append(want, i)
		want[n].Starts = 1
	}
	b.offer(want...)
	got := b.lease("t", time.Hour, 100)
	if diff := cmp.Diff(want, got, asKept, setByStores); diff != "" {
		b.Errorf("leased (-want +got):\n%s", diff)
	}
}

func leaseShared(b *bundle) {
	b.offer(item("a"), item("b"), item("c"))
	if b.harness.ConcurrentWriters { // the second does not wait for the first
		first, second := b.begin(), b.begin()
		b.wantKeys("first", b.leaseIn(first, "t1", time.Hour, 2), "a", "b")
		b.wantKeys("second", b.leaseIn(second, "t2", time.Hour, 2), "c")
		first.Rollback()
		b.commit(second)
		b.wantKeys("after a rollback", b.lease("t3", time.Hour, 5), "a", "b")
		return
	}
	b.wantKeys("first", b.lease("t1", time.Hour, 2), "a", "b")
	b.wantKeys("second", b.lease("t2", time.Hour, 2), "c")
}

func leaseRace(b *bundle) {
	const rows, claimers = 60, 4
	items := make([]backlog.Item, rows)
	for n := range items {
		items[n] = item(fmt.Sprint("key-", n))
	}
	b.offer(items...)
	var wait sync.WaitGroup
	taken := make([][]string, claimers)
	for n := range claimers {
		s := b.Reopen()
		wait.Go(func() {
			for {
				t, err := s.Begin(b.ctx)
				if err != nil {
					b.Errorf("Begin: %v", err)
					return
				}
				items, err := s.Backlog().Leases.Claim(b.ctx, t, consumer, handler, fmt.Sprint("token-", n), time.Hour, 3)
				if err == nil {
					err = s.Commit(b.ctx, t, nil)
				}
				t.Rollback()
				if err != nil || len(items) == 0 {
					if err != nil {
						b.Errorf("Claim: %v", err)
					}
					return
				}
				taken[n] = append(taken[n], keysOf(items)...)
			}
		})
	}
	wait.Wait()
	all := slices.Concat(taken...)
	slices.Sort(all)
	if len(all) != rows || len(slices.Compact(all)) != rows {
		b.Errorf("%d leases for %d rows", len(all), rows)
	}
}

// leaseTakeover: a worker that was frozen past its term finds the row under another token
// (INVARIANTS, fault 3).
//
//evidence:lease-lost
func leaseTakeover(b *bundle) {
	b.offer(item("a"))
	b.lease("old", time.Minute, 1)
	b.shift(time.Hour)
	if found, _ := b.look(); !found {
		b.Error("Look does not find a lease that has ended")
	}
	b.in(func(t *txn.Txn) {
		if !b.fence(t, "a", "old") {
			b.Error("a lease that was not taken over is not held")
		}
	})
	items := b.lease("new", time.Hour, 1)
	b.wantKeys("taken over", items, "a")
	if len(items) == 1 && (!items[0].Lost || items[0].Starts != 2) {
		b.Errorf("lost %t, starts %d, want a second start after a lost lease", items[0].Lost, items[0].Starts)
	}
	b.in(func(t *txn.Txn) {
		if b.fence(t, "a", "old") {
			b.Error("the old holder passes the fence")
		}
		extended, locked, err := b.leases().Extend(b.ctx, t, []backlog.Lease{b.leaseOf("a", "old")}, time.Nanosecond)
		if err != nil || len(extended)+len(locked) != 0 {
			b.Errorf("the old holder extends: %v, %v, %v", extended, locked, err)
		}
		b.must(b.leases().GiveBack(b.ctx, t, []backlog.Lease{b.leaseOf("a", "old")}))
		if !b.fence(t, "a", "new") {
			b.Error("the new holder does not pass the fence")
		}
	})
	if found, next := b.look(); found {
		b.Error("the old holder ended the new lease")
	} else {
		about(b, "the end of the new lease", next, time.Hour)
	}
}

//evidence:lease-stop
func leaseGiveBack(b *bundle) {
	b.offer(item("a"), item("b"), item("c"))
	b.lease("t", time.Hour, 2)
	b.in(func(t *txn.Txn) {
		b.must(b.leases().GiveBack(b.ctx, t, []backlog.Lease{b.leaseOf("a", "t"), b.leaseOf("b", "another"), b.leaseOf("c", "t")}))
	})
	items := b.lease("u", time.Hour, 5)
	b.wantKeys("after it was given back", items, "a", "c")
	for _, i := range items {
		if i.Starts != 1 || i.Lost {
			b.Errorf("%s: %d starts, lost %t", i.Delivery.Key, i.Starts, i.Lost)
		}
	}
}

func leaseExtend(b *bundle) {
	b.offer(item("a"), item("b"), item("c"))
	b.lease("t", time.Minute, 2)
	b.shift(time.Hour)
	b.in(func(t *txn.Txn) {
		asked := []backlog.Lease{b.leaseOf("a", "t"), b.leaseOf("b", "t"), b.leaseOf("c", "t"), b.leaseOf("a", "another"), {RowID: -1, Token: "t"}}
		extended, locked, err := b.leases().Extend(b.ctx, t, asked, time.Hour)
		b.must(err)
		sorted := cmpopts.SortSlices(func(x, y backlog.Lease) bool { return x.RowID < y.RowID })
		if diff := cmp.Diff([]backlog.Lease{b.leaseOf("a", "t"), b.leaseOf("b", "t")}, extended, sorted); diff != "" || len(locked) != 0 {
			b.Errorf("extended (-want +got), and locked %v:\n%s", locked, diff)
		}
	})
	b.wantKeys("only what was never leased", b.lease("u", time.Hour, 5), "c")
}

func leaseLook(b *bundle) {
	if found, next := b.look(); found || next != 0 {
		b.Errorf("of nothing: %t, %s", found, next)
	}
	other, theirs := item("other"), item("theirs")
	other.Handler, theirs.Consumer = "orders", "bill"
	b.wait(theirs)
	b.offer(other, item("a"))
	b.lease("t", time.Hour, 5)
	found, next := b.look()
	if found {
		b.Error("a row of another handler, or one that is leased, is found")
	}
	about(b, "the end of the lease", next, time.Hour)
	if found, _, err := b.leases().Look(b.ctx, consumer, "orders"); err != nil || !found {
		b.Errorf("the other handler's row: %t, %v", found, err)
	}
}

func leaseReschedule(b *bundle) {
	b.offer(item("later"), item("now"), item("held"))
	b.in(func(t *txn.Txn) {
		b.leaseIn(t, "t", time.Hour, 3)
		b.must(b.Store.Backlog().Reschedule(b.ctx, t, []backlog.Change{
			{RowID: b.rowID(t, "later"), Delay: time.Minute, Attempt: 7}, {RowID: b.rowID(t, "now"), Attempt: 8},
		}))
	})
	b.in(func(t *txn.Txn) {
		if b.fence(t, "later", "t") || b.fence(t, "now", "t") || !b.fence(t, "held", "t") {
			b.Error("what is run again is still leased, or what was left alone is not")
		}
		b.wantKeys("ready", b.readAll(t), "now")
	})
	b.shift(10 * time.Minute)
	b.promote(5)
	b.in(func(t *txn.Txn) { b.toLeased(t) })
	items := b.lease("u", time.Hour, 5)
	b.wantKeys("leased again", items, "now", "later")
	for n, i := range items {
		if i.Lost || i.Starts != 2 || i.Delivery.Attempt != 8-n {
			b.Errorf("%s: lost %t, starts %d, attempt %d", i.Delivery.Key, i.Lost, i.Starts, i.Delivery.Attempt)
		}
	}
	b.in(func(t *txn.Txn) { b.reschedule(t, "held", backlog.Change{Delay: time.Hour}) }) // Check looks at its token
}

func leaseEndedFirst(b *bundle) {
	b.offer(item("a"), item("b"), item("c"))
	b.lease("t", time.Hour, 2)
	b.in(func(t *txn.Txn) { b.must(b.leases().GiveBack(b.ctx, t, []backlog.Lease{b.leaseOf("a", "t")})) })
	b.shift(2 * time.Hour)
	b.wantKeys("the ended one first", b.lease("u", time.Hour, 2), "b", "a")
	b.wantKeys("the rest", b.lease("u", time.Hour, 2), "c")
}

//evidence:strict-off
func leaseMoveBack(b *bundle) {
	b.offer(item("ended"), item("held"), item("waits"), item("more"))
	b.lease("t", time.Minute, 1)
	b.in(func(t *txn.Txn) { b.leaseIn(t, "u", 10*time.Hour, 1) })
	b.shift(time.Hour)
	b.in(func(t *txn.Txn) {
		b.moveBack(t, "orders", 10, 0)
		b.moveBack(t, handler, 2, 2)
		b.moveBack(t, handler, 10, 1)
	})
	keys := keysOf(b.ready())
	slices.Sort(keys)
	if diff := cmp.Diff([]string{"ended", "more", "waits"}, keys); diff != "" {
		b.Errorf("ready (-want +got):\n%s", diff)
	}
	if p := b.poll(nil); len(p.Shards) == 0 {
		b.Error("the backlog is polled in vain for what was moved back")
	}
}

func (b *bundle) moveBack(t *txn.Txn, handler string, limit, want int) {
	b.Helper()
	n, err := b.leases().MoveBack(b.ctx, t, consumer, handler, limit)
	if err != nil || n != want {
		b.Errorf("MoveBack of %s: %d, %v, want %d", handler, n, err, want)
	}
}

func leaseDepth(b *bundle) {
	b.offer(item("a"), item("b"), item("c"))
	b.lease("t", time.Hour, 1)
	d, err := b.Store.Backlog().Depth(b.ctx, consumer)
	b.must(err)
	if d.Oldest <= 0 {
		b.Errorf("the oldest row that waits to be leased is %s old", d.Oldest)
	}
	d.Oldest = 0
	if want := (backlog.Depth{Ready: 2, Leased: 1}); d != want {
		b.Errorf("depth %+v, want %+v", d, want)
	}
}
