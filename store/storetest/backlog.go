package storetest

import (
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

var backlogTests = []test{
	{name: "rows keep every field, byte for byte", run: backlogKeeps},
	{name: "a row without a key is kept, and several of them", run: backlogKeyless},
	{name: "ready rows are polled in their shards by mark", run: backlogPoll},
	{name: "rows of other consumers are not seen", run: backlogConsumers},
	{name: "a second row for one message is an error", run: backlogTwice},
	{name: "an undue row is not polled, read or promoted", run: backlogUndue},
	{name: "a due row is promoted to a new place, and keeps its id", run: backlogPromote},
	{name: "due rows are promoted in the order of their times", run: backlogPromoteOrder},
	{name: "at most limit rows are promoted", run: backlogPromoteLimit},
	{name: "Reschedule delays rows, or has them run again behind the others", run: backlogReschedule},
	{name: "rows that run again come in the order given", run: backlogRescheduleOrder},
	{name: "a postponement counts from the first", run: backlogPostponed},
	{name: "Find says how a message waits, and why", run: backlogShown},
	{name: "Delete removes rows of any status", run: backlogDelete},
	{name: "Depth tells statuses apart", run: backlogDepth},
	{name: "a row's age counts from when it became ready", run: backlogAge},
}

func (b *bundle) put(t *txn.Txn, items ...backlog.Item) {
	b.Helper()
	if err := b.Store.Backlog().Put(b.ctx, t, items); err != nil {
		b.Fatalf("Put: %v", err)
	}
}

// wait puts items into the backlog with the inbox rows that say so.
func (b *bundle) wait(items ...backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) { b.waitIn(t, items...) })
}

func (b *bundle) waitIn(t *txn.Txn, items ...backlog.Item) {
	b.Helper()
	r := inbox.ClaimRequest{Waiting: true}
	for _, i := range items {
		if id := (inbox.ID{Scope: i.Delivery.Scope, Key: i.Delivery.Key}); id.Key != "" {
			r.Claims = append(r.Claims, inbox.Claim{ID: id, Fingerprint: i.Delivery.Fingerprint})
		}
	}
	for _, c := range b.request(t, r) {
		if c.Result != inbox.Won {
			b.Fatalf("Claim: %+v", c)
		}
	}
	b.put(t, items...)
}

// remove deletes the ready rows of keys in t.
func (b *bundle) remove(t *txn.Txn, keys ...string) {
	b.Helper()
	var rows []int64
	for _, key := range keys {
		for _, i := range b.readAll(t) {
			if i.Delivery.Key == key {
				rows = append(rows, i.RowID)
			}
		}
	}
	if len(rows) != len(keys) {
		b.Fatalf("%d ready rows for %q", len(rows), keys)
	}
	b.must(b.Store.Backlog().Delete(b.ctx, t, rows))
}

// reading asks for ready rows of a shard, for all handlers of the suite.
func reading(shard int, after int64, limit int) backlog.ReadRequest {
	return backlog.ReadRequest{
		Consumer: consumer, Shard: shard, After: after, Limit: limit, Bytes: 1 << 30, Handlers: []string{handler, "orders", ""},
	}
}

func (b *bundle) read(t *txn.Txn, shard int, after int64, limit int) []backlog.Item {
	b.Helper()
	return b.readRows(t, reading(shard, after, limit))
}

func (b *bundle) readRows(t *txn.Txn, r backlog.ReadRequest) []backlog.Item {
	b.Helper()
	items, err := b.Store.Backlog().Read(b.ctx, t, r)
	if err != nil {
		b.Fatalf("Read: %v", err)
	}
	return items
}

// readAll returns the ready rows of all shards, shard by shard.
func (b *bundle) readAll(t *txn.Txn) []backlog.Item {
	b.Helper()
	var all []backlog.Item
	for s := range backlog.Shards {
		all = append(all, b.read(t, s, 0, 10_000)...)
	}
	return all
}

// ready returns what readAll does, in a transaction of its own.
func (b *bundle) ready() (items []backlog.Item) {
	b.Helper()
	b.in(func(t *txn.Txn) { items = b.readAll(t) })
	return items
}

func (b *bundle) poll(marks []int64) backlog.Poll {
	b.Helper()
	if marks == nil {
		marks = make([]int64, backlog.Shards)
	}
	p, err := b.Store.Backlog().Poll(b.ctx, consumer, marks)
	if err != nil {
		b.Fatalf("Poll: %v", err)
	}
	return p
}

func (b *bundle) promote(limit int) (n int) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		var err error
		if n, err = b.Store.Backlog().Promote(b.ctx, t, consumer, limit); err != nil {
			b.Fatalf("Promote: %v", err)
		}
	})
	return n
}

func keysOf(items []backlog.Item) []string {
	var keys []string
	for _, i := range items {
		keys = append(keys, i.Delivery.Key)
	}
	return keys
}

func (b *bundle) wantKeys(what string, got []backlog.Item, want ...string) {
	b.Helper()
	if diff := gocmp.Diff(want, keysOf(got), cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// about fails the test unless got is at most want, and at least a minute less.
func about(tb testing.TB, what string, got, want time.Duration) {
	tb.Helper()
	if got > want || got < want-time.Minute {
		tb.Errorf("%s is %s, want about %s", what, got, want)
	}
}

// rowID returns the id of the row of key, as q sees it; -1 where there is none.
func (b *bundle) rowID(q execer, key string) int64 {
	b.Helper()
	return int64(b.count(q, "SELECT COALESCE((SELECT id FROM {{schema}}.headrace_backlog WHERE key = $1), -1)", key))
}

// row returns the ready row of key.
func (b *bundle) row(t *txn.Txn, key string) backlog.Item {
	b.Helper()
	for _, i := range b.readAll(t) {
		if i.Delivery.Key == key {
			return i
		}
	}
	b.Fatalf("no ready row of %q", key)
	return backlog.Item{}
}

// reschedule reschedules the row of key, whatever its status.
func (b *bundle) reschedule(t *txn.Txn, key string, c backlog.Change) {
	b.Helper()
	c.RowID = b.rowID(t, key)
	b.must(b.Store.Backlog().Reschedule(b.ctx, t, []backlog.Change{c}))
}
