package storetest

import (
	"slices"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

var orderTests = []test{
	{name: "Block takes rows out whose earlier row is not ready", run: orderBlock},
	{name: "Block takes rows out whose earlier row comes later", run: orderBlockLater},
	{name: "Block leaves rows that are behind none, or not ready", run: orderBlockNot},
	{name: "Release makes the oldest rows of each key ready, in their order", run: orderRelease},
	{name: "Sweep releases rows without an unready row before them", run: orderSweep},
	{name: "Sweep leaves what waits, and other consumers", run: orderSweepNot},
	{name: "at most limit rows are swept", run: orderSweepLimit},
	{name: "a row is not blocked behind one that is being ended", run: orderBlockEnding, needs: concurrentWriters},
	{name: "who ends a leased row waits for a block behind it", run: orderBlockFirst, needs: concurrentWriters},
	{name: "a block stops neither a heartbeat nor a promotion", run: orderBlockBeside, needs: concurrentWriters},
	{name: "nothing stays blocked, in any order of events", run: orderRace},
	{name: "two that release share the rows", run: orderReleaseShared, needs: concurrentWriters},
}

func orderKey(key string) backlog.OrderKey { return backlog.OrderKey{Scope: scope, Key: key} }

// block blocks the rows of keys, and fails the test unless all are blocked.
func (b *bundle) block(t *txn.Txn, keys ...string) {
	b.Helper()
	var rows []int64
	for _, key := range keys {
		rows = append(rows, b.rowID(t, key))
	}
	b.wantBlockedRows(t, rows, rows...)
}

// wantBlockedRows blocks rows and compares which it blocked.
func (b *bundle) wantBlockedRows(t *txn.Txn, rows []int64, want ...int64) {
	b.Helper()
	got, err := b.Store.Backlog().Order.Block(b.ctx, t, rows)
	if err != nil {
		b.Fatalf("Block: %v", err)
	}
	sorted := cmpopts.SortSlices(func(a, b int64) bool { return a < b })
	if diff := cmp.Diff(want, got, sorted, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("blocked of %d (-want +got):\n%s", rows, diff)
	}
}

func (b *bundle) release(t *txn.Txn, limit int, keys ...string) {
	b.Helper()
	list := make([]backlog.OrderKey, len(keys))
	for i, key := range keys {
		list[i] = orderKey(key)
	}
	if err := b.Store.Backlog().Order.Release(b.ctx, t, list, limit); err != nil {
		b.Fatalf("Release: %v", err)
	}
}

func (b *bundle) sweep(limit int) (n int) {
	b.Helper()
	b.in(func(t *txn.Txn) { n = b.sweepIn(t, limit) })
	return n
}

func (b *bundle) sweepIn(t *txn.Txn, limit int) int {
	b.Helper()
	n, err := b.Store.Backlog().Order.Sweep(b.ctx, t, consumer, limit)
	if err != nil {
		b.Fatalf("Sweep: %v", err)
	}
	return n
}

// finish takes rows out of the backlog, whatever their status, as if they were handled.
func (b *bundle) finish(t *txn.Txn, keys ...string) {
	b.Helper()
	b.move(t, inbox.Waiting, inbox.Done, keys...)
	for _, key := range keys {
		b.must(b.Store.Backlog().Delete(b.ctx, t, []int64{b.rowID(t, key)}))
	}
}

// wantBlockedCount compares how many rows are blocked.
func (b *bundle) wantBlockedCount(want int64) {
	b.Helper()
	if d, err := b.Store.Backlog().Depth(b.ctx, consumer); err != nil || d.Blocked != want {
		b.Errorf("depth %+v, %v, want %d blocked", d, err, want)
	}
}

//evidence:lease-order
func orderBlock(b *bundle) {
	for n, status := range []string{"delayed", "leasable", "leased", "blocked"} {
		key := func(m string) string { return m + " behind " + status }
		order := "k" + status
		b.wait(ordered(key("m0"), order), ordered(key("m1"), order), ordered(key("m2"), order), ordered(key("m3"), order), ordered(key("n"), "l"))
		b.in(func(t *txn.Txn) {
			switch status {
			case "delayed":
				b.reschedule(t, key("m1"), backlog.Change{Delay: time.Hour})
			case "leasable", "leased":
				b.must(b.leases().MoveToLeased(b.ctx, t, []int64{b.rowID(t, key("m1"))}))
			case "blocked":
				b.reschedule(t, key("m0"), backlog.Change{Delay: time.Hour})
				b.block(t, key("m1"))
			}
			if status == "leased" {
				b.leaseIn(t, "t", time.Hour, 10)
			}
			id := func(m string) int64 { return b.rowID(t, key(m)) }
			b.wantBlockedRows(t, []int64{id("m3"), id("n"), id("m2"), id("m0")}, id("m2"), id("m3"))
			b.wantBlockedRows(t, []int64{id("m2")})
		})
		want := []string{key("m0")}
		if status == "blocked" {
			want = nil
		}
		b.in(func(t *txn.Txn) {
			got := slices.DeleteFunc(b.read(t, shard.Of(order), 0, 100), func(i backlog.Item) bool { return i.Delivery.OrderKey != order })
			b.wantKeys("ready beside one that is "+status, got, want...)
		})
		b.wantBlockedCount(int64(2*n + 2 + n/3))
	}
}

func orderBlockLater(b *bundle) {
	b.wait(ordered("m1", "k"), ordered("m2", "k"), ordered("m3", "k"))
	b.in(func(t *txn.Txn) {
		b.reschedule(t, "m1", backlog.Change{})
		b.block(t, "m2", "m3")
	})
	b.wantKeys("ready", b.ready(), "m1")
	if p := b.poll(nil); len(p.Shards) != 1 {
		b.Errorf("%+v", p)
	}
}

func orderBlockNot(b *bundle) {
	loose, other := keyed("loose", "k"), ordered("other", "k")
	other.Delivery.Scope = "billing/orders"
	b.wait(ordered("m1", "k"), loose, other, ordered("m2", "k"), later(ordered("late", "k"), time.Hour), ordered("last", "k"))
	b.in(func(t *txn.Txn) {
		var rows []int64
		for _, key := range []string{"m1", "loose", "other", "m2", "late", "last"} {
			rows = append(rows, b.rowID(t, key))
		}
		b.wantBlockedRows(t, append(rows, -1), b.rowID(t, "last"))
		b.wantBlockedRows(t, nil)
		b.finish(t, "late")
		b.release(t, 10, "k")
		b.wantBlockedRows(t, rows)
	})
}

func orderRelease(b *bundle) {
	b.wait(later(ordered("m1", "k"), time.Hour), later(ordered("n1", "j"), time.Hour), ordered("other", "other"))
	b.wait(ordered("m2", "k"), ordered("n2", "j"), ordered("m3", "k"), ordered("m4", "k"), ordered("n3", "j"))
	marks := make(map[string]int64)
	ids := make(map[string]int64)
	b.in(func(t *txn.Txn) {
		for _, i := range b.readAll(t) {
			ids[i.Delivery.Key] = i.RowID
			marks[i.Delivery.OrderKey] = max(marks[i.Delivery.OrderKey], i.Place)
		}
		b.block(t, "m4", "m3", "m2", "n3", "n2")
	})
	b.in(func(t *txn.Txn) { b.finish(t, "m1"); b.release(t, 2, "k") })
	above := func(key string) (items []backlog.Item) {
		b.in(func(t *txn.Txn) { items = b.read(t, shard.Of(key), marks[key], 10) })
		return items
	}
	b.wantKeys("of k, above the mark", above("k"), "m2", "m3")
	b.wantKeys("of j", above("j"))
	b.in(func(t *txn.Txn) { b.finish(t, "n1"); b.release(t, 2, "absent", "k", "j") })
	b.wantKeys("of k", above("k"), "m2", "m3", "m4")
	b.wantKeys("of j", above("j"), "n2", "n3")
	for _, i := range append(above("k"), above("j")...) {
		if i.RowID != ids[i.Delivery.Key] || i.Behind {
			b.Errorf("released: %+v, it was row %d", i, ids[i.Delivery.Key])
		}
	}
	b.in(func(t *txn.Txn) {
		b.must(b.Store.Backlog().Order.Release(b.ctx, t, nil, 1))
		b.release(t, 5, "k", "absent")
	})
	b.wantBlockedCount(0)
}

// orderSweep: a blocked row stays behind where the row before it was ended by a process
// that did not see it blocked.
//
//evidence:strict-off
func orderSweep(b *bundle) {
	b.wait(later(ordered("m1", "k"), time.Hour), ordered("m2", "k"), ordered("m3", "k"))
	b.wait(ordered("n1", "j"), ordered("n2", "j"), ordered("n3", "j"))
	b.in(func(t *txn.Txn) {
		b.block(t, "m2", "m3")
		b.reschedule(t, "n2", backlog.Change{Delay: time.Hour})
		b.block(t, "n3")
	})
	b.in(func(t *txn.Txn) { b.finish(t, "m1"); b.reschedule(t, "n2", backlog.Change{}) })
	if n := b.sweep(10); n != 2 {
		b.Errorf("swept %d rows, want one of each key", n)
	}
	b.in(func(t *txn.Txn) {
		b.wantKeys("of k", b.read(t, shard.Of("k"), 0, 10), "m2")
		b.wantKeys("of j", b.read(t, shard.Of("j"), 0, 10), "n1", "n2", "n3")
	})
	if n := b.sweep(10); n != 1 {
		b.Errorf("swept %d rows, want the next of k", n)
	}
	if n := b.sweep(10); n != 0 {
		b.Errorf("swept %d rows of none", n)
	}
}

func orderSweepNot(b *bundle) {
	other, others := ordered("theirs", "k"), ordered("before theirs", "k")
	for _, i := range []*backlog.Item{&other, &others} {
		i.Consumer, i.Delivery.Scope = "bill", "bill/orders.paid"
	}
	b.wait(later(ordered("delayed", "a"), time.Hour), ordered("x1", "a"), ordered("leased", "b"), ordered("x2", "b"), later(others, time.Hour), other)
	b.in(func(t *txn.Txn) {
		b.must(b.leases().MoveToLeased(b.ctx, t, []int64{b.rowID(t, "leased")}))
		b.block(t, "x1", "x2", "theirs")
	})
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().Transition(b.ctx, t, []inbox.ID{{Scope: others.Delivery.Scope, Key: "before theirs"}}, inbox.Waiting, inbox.Done)
		b.must(err)
		b.must(b.Store.Backlog().Delete(b.ctx, t, []int64{b.rowID(t, "before theirs")}))
	})
	for range 2 {
		if n := b.sweep(10); n != 0 {
			b.Errorf("swept %d rows that wait, or are another consumer's", n)
		}
		b.lease("t", time.Hour, 10)
	}
	b.wantBlockedCount(2)
}

func orderSweepLimit(b *bundle) {
	keys := []string{"a", "b", "c", "d", "e"}
	for _, key := range keys {
		b.wait(later(ordered(key+"1", key), time.Hour), ordered(key+"2", key))
		b.in(func(t *txn.Txn) { b.block(t, key+"2") })
		b.in(func(t *txn.Txn) { b.finish(t, key+"1") })
	}
	for _, want := range []int{2, 2, 1, 0} {
		if n := b.sweep(2); n != want {
			b.Errorf("swept %d rows, want %d", n, want)
		}
	}
	if n := len(b.ready()); n != len(keys) {
		b.Errorf("%d ready rows", n)
	}
}
