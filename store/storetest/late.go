package storetest

import (
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// lateTests are about rows whose transactions commit after others that drew higher ids
// (invariant 9, trap of late committers): a reader that has gone on meanwhile must give
// them out before what was written behind them.
var lateTests = []test{
	{name: "an event that commits late comes before those behind it", run: lateEvent, needs: concurrentWriters},
	{name: "work that commits late comes before that behind it", run: lateWork, needs: concurrentWriters},
	{name: "and does so again after a rollback", run: lateAgain, needs: concurrentWriters},
}

// without runs f in t as if rows of a shard were done.
func (b *bundle) without(t *txn.Txn, shard int, rows []outbox.Row, f func()) {
	b.Helper()
	before := t.Savepoint("suite")
	b.must(before.Set(b.ctx))
	ids := make([]int64, len(rows))
	for i := range rows {
		ids[i] = rows[i].RowID
	}
	b.must(b.Store.Outbox().Delete(b.ctx, t, shard, ids))
	f()
	b.must(before.RollbackTo(b.ctx))
	b.must(before.Release(b.ctx))
}

func rowIDs(items []backlog.Item) (ids []int64) {
	for _, i := range items {
		ids = append(ids, i.RowID)
	}
	return ids
}

// open writes event n in a transaction that stays open.
func (b *bundle) open(n int) *txn.Txn {
	b.Helper()
	t := b.begin()
	b.must(b.Store.Outbox().Insert(b.ctx, t, rowsOf("t", "k", n, 1)))
	return t
}

// overtake leaves events 1 and 3 of one order ready, of which 1 committed after a reader
// had come to 2, and returns that mark.
func (b *bundle) overtake(read func(t *txn.Txn, after int64) []outbox.Row) (mark int64) {
	b.Helper()
	line := shardOf("t", "k")
	first := b.open(1)
	defer first.Rollback()
	b.publish(rowsOf("t", "k", 2, 1)...)
	for range 3 { // it reads as often as it likes
		b.in(func(t *txn.Txn) {
			for _, r := range read(t, mark) {
				mark = r.RowID
				b.must(b.Store.Outbox().Delete(b.ctx, t, line, []int64{mark}))
			}
		})
	}
	b.commit(first)
	b.publish(rowsOf("t", "k", 3, 1)...)
	return mark
}

//evidence:late-row
func lateEvent(b *bundle) {
	read := func(t *txn.Txn, after int64) []outbox.Row { return b.outboxRead(t, shardOf("t", "k"), after, 10) }
	mark := b.overtake(read)
	b.in(func(t *txn.Txn) { b.wantIDs("above the mark", read(t, mark), "event-1", "event-3") })
}

//evidence:late-row
func lateWork(b *bundle) {
	line := shard.Of("customer")
	first := b.begin()
	defer first.Rollback()
	b.waitIn(first, keyed("1", "customer"))
	b.wait(keyed("2", "customer"))
	mark := int64(0)
	for range 3 {
		b.in(func(t *txn.Txn) {
			for _, i := range b.read(t, line, mark, 10) {
				mark = i.Place
				b.done(t, i)
			}
		})
	}
	b.commit(first)
	b.wait(keyed("3", "customer"))
	b.in(func(t *txn.Txn) { b.wantKeys("above the mark", b.read(t, line, mark, 10), "1", "3") })
}

// lateAgain: a late row is still late when the transaction that read it was rolled back.
func lateAgain(b *bundle) {
	line := shard.Of("customer")
	first := b.begin()
	defer first.Rollback()
	b.waitIn(first, keyed("1", "customer"))
	b.wait(keyed("2", "customer"), keyed("left", "customer"))
	mark := int64(0)
	read := func(t *txn.Txn) (items []backlog.Item) {
		items = b.read(t, line, mark, 10)
		for _, i := range items {
			if i.Delivery.Key != "left" {
				b.done(t, i)
			}
		}
		return items
	}
	for range 3 {
		b.in(func(t *txn.Txn) {
			for _, i := range read(t) {
				mark = i.Place
			}
		})
	}
	b.commit(first)
	for range 3 {
		t := b.begin()
		b.wantKeys("read before a rollback", read(t)[:1], "1")
		t.Rollback()
	}
	b.wait(keyed("3", "customer"))
	b.in(func(t *txn.Txn) {
		keys := keysOf(read(t))
		if len(keys) < 2 || keys[0] != "1" || keys[len(keys)-1] != "3" {
			b.Errorf("read at last: %q", keys)
		}
	})
}

// done takes an item out of the backlog as if it were handled.
func (b *bundle) done(t *txn.Txn, i backlog.Item) {
	b.Helper()
	id := inbox.ID{Scope: i.Delivery.Scope, Key: i.Delivery.Key}
	_, err := b.Store.Inbox().Transition(b.ctx, t, []inbox.ID{id}, inbox.Waiting, inbox.Done)
	b.must(err)
	b.must(b.Store.Backlog().Delete(b.ctx, t, []int64{i.RowID}))
}
