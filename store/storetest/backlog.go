package storetest

import (
	"cmp"
	"slices"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

var backlogTests = []test{
	{name: "rows keep every field, byte for byte", run: backlogKeeps},
	{name: "ready rows are polled in their shards, and read by mark and limit", run: backlogRead},
	{name: "rows of other consumers are not seen", run: backlogConsumers},
	{name: "a second row for one message is an error", run: backlogTwice},
	{name: "an undue row is not polled, read or promoted", run: backlogUndue},
	{name: "a due row is promoted under a new RowID", run: backlogPromote},
	{name: "at most limit rows are promoted", run: backlogPromoteLimit},
	{name: "Reschedule takes a row off the line and numbers the run to come", run: backlogReschedule},
	{name: "Delete removes rows from any line", run: backlogDelete},
	{name: "Depth tells the lines apart", run: backlogDepth},
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
	for _, i := range items {
		e := inbox.Entry{ID: inbox.ID{Scope: i.Delivery.Scope, Key: i.Delivery.Key}, State: inbox.Waiting, Fingerprint: i.Delivery.Fingerprint}
		if ok, err := b.Store.Inbox().Record(b.ctx, t, e); err != nil || !ok {
			b.Fatalf("Record: %t, %v", ok, err)
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

func (b *bundle) read(t *txn.Txn, shard int, after int64, limit int) []backlog.Item {
	b.Helper()
	items, err := b.Store.Backlog().Read(b.ctx, t, consumer, shard, after, limit)
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

func backlogKeeps(b *bundle) {
	var want []backlog.Item
	for n, a := range awkward {
		i := ordered(a.name, "order "+a.name)
		i.Delivery.Payload, i.Delivery.Metadata, i.Delivery.Attempt = a.payload, a.metadata, n+2
		i.Strict, i.Spent, i.LetterID, i.Redrives = n%2 == 0, n, int64(n)<<33, n+1
		want = append(want, i)
	}
	bare := backlog.Item{Consumer: consumer, Delivery: headrace.Delivery{Scope: scope, Key: "bare", OrderKey: "bare"}}
	bare.Delivery.Metadata = map[string]string{}
	want = append(want, bare)
	b.wait(want...)
	got := b.ready()
	slices.SortFunc(got, func(a, b backlog.Item) int { return cmp.Compare(a.RowID, b.RowID) })
	if diff := gocmp.Diff(want, got, asKept, cmpopts.IgnoreFields(backlog.Item{}, "RowID")); diff != "" {
		b.Errorf("rows of the backlog (-want +got):\n%.4000s", diff)
	}
	for _, i := range got {
		if i.Delivery.Metadata == nil {
			b.Errorf("%s: nil Metadata", i.Delivery.Key)
		}
	}
}

func backlogRead(b *bundle) {
	if p := b.poll(nil); len(p.Shards) != 0 || p.Due || p.Next != 0 {
		b.Errorf("an empty backlog: %+v", p)
	}
	line := shard.Of("customer")
	b.wait(keyed("1", "customer"), keyed("2", "customer"))
	b.wait(keyed("3", "customer"))
	marks := make([]int64, backlog.Shards)
	if p := b.poll(marks); !gocmp.Equal(p, backlog.Poll{Shards: []int{line}}) {
		b.Errorf("%+v, want shard %d alone", p, line)
	}
	b.in(func(t *txn.Txn) {
		all := b.read(t, line, 0, 10)
		b.wantKeys("the shard in order", all, "1", "2", "3")
		b.wantKeys("the first two", b.read(t, line, 0, 2), "1", "2")
		for done, want := range map[int][]string{0: {"2", "3"}, 2: nil} {
			b.must(t.Savepoint(b.ctx))
			b.must(b.Store.Backlog().Delete(b.ctx, t, rowIDs(all[:done+1])))
			b.wantKeys("above what is done", b.read(t, line, all[done].RowID, 10), want...)
			b.must(t.RollbackTo(b.ctx))
			b.must(t.Release(b.ctx))
		}
		b.wantKeys("another shard", b.read(t, (line+1)%backlog.Shards, 0, 10))
		marks[line] = all[2].RowID
	})
	if p := b.poll(marks); len(p.Shards) != 0 {
		b.Errorf("with every row marked: %+v", p)
	}
	marks[line]--
	if p := b.poll(marks); len(p.Shards) != 1 {
		b.Errorf("with a row above the mark: %+v", p)
	}
}

func backlogConsumers(b *bundle) {
	other := ordered("theirs", "customer")
	other.Consumer, other.Delivery.Scope = "bill", "bill/orders.paid"
	later := other
	later.Delivery.Key, later.Delivery.OrderKey, later.Strict, later.Delay = "later", "", false, time.Microsecond
	b.wait(other, later)
	b.await("a due row", func() bool {
		p, err := b.Store.Backlog().Poll(b.ctx, "bill", make([]int64, backlog.Shards))
		b.must(err)
		return p.Due
	})
	if p := b.poll(nil); len(p.Shards) != 0 || p.Due || p.Next != 0 {
		b.Errorf("of billing, while only bill has rows: %+v", p)
	}
	b.wantKeys("of billing", b.ready())
	if n := b.promote(10); n != 0 {
		b.Errorf("promoted %d rows of another consumer", n)
	}
}

func backlogTwice(b *bundle) {
	b.wait(item("a"))
	again := item("a")
	again.Delivery.Payload = []byte("second")
	t := b.begin()
	if err := b.Store.Backlog().Put(b.ctx, t, []backlog.Item{again}); err == nil {
		b.Error("a second row was taken")
	}
	t.Rollback()
	got := b.ready()
	b.wantKeys("rows", got, "a")
	if string(got[0].Delivery.Payload) == "second" {
		b.Error("the row was overwritten")
	}
}

func backlogUndue(b *bundle) {
	hour, day := item("hour"), item("day")
	hour.Delay, day.Delay = time.Hour, 24*time.Hour
	b.wait(day, hour)
	p := b.poll(nil)
	if len(p.Shards) != 0 || p.Due {
		b.Errorf("undue rows are reported: %+v", p)
	}
	about(b, "Next", p.Next, time.Hour)
	if n := b.promote(10); n != 0 {
		b.Errorf("promoted %d undue rows", n)
	}
	b.wantKeys("ready", b.ready())
}

// backlogPromote: a worker that has a mark finds the promoted row above it.
func backlogPromote(b *bundle) {
	soon, never := ordered("soon", "x"), item("never")
	soon.Delay, never.Delay = time.Millisecond, time.Hour
	b.wait(soon, never)
	b.wait(ordered("ready", "y"))
	mark := b.ready()[0].RowID
	b.await("a due row", func() bool { return b.poll(nil).Due })
	if p := b.poll(nil); p.Next != 0 || len(p.Shards) != 1 {
		b.Errorf("with a due row: %+v, want Due, no Next, and no shard of it", p)
	}
	if n := b.promote(10); n != 1 {
		b.Errorf("promoted %d rows, want 1", n)
	}
	b.in(func(t *txn.Txn) { b.wantKeys("above the mark", b.read(t, shard.Of("x"), mark, 10), "soon") })
	p := b.poll(nil)
	if p.Due || len(p.Shards) == 0 {
		b.Errorf("after Promote: %+v", p)
	}
	about(b, "Next", p.Next, time.Hour)
}

func backlogPromoteLimit(b *bundle) {
	var items []backlog.Item
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		i := item(key)
		i.Delay = time.Microsecond
		items = append(items, i)
	}
	b.wait(items...)
	promoted := 0
	b.await("two promoted rows", func() bool { promoted += b.promote(2 - promoted); return promoted == 2 })
	if n := len(b.ready()); n != 2 {
		b.Errorf("%d ready rows, want 2", n)
	}
	b.await("the rest", func() bool { promoted += b.promote(10); return promoted == 5 })
	if n := b.promote(10); n != 0 {
		b.Errorf("promoted %d rows that were ready", n)
	}
}

func backlogReschedule(b *bundle) {
	b.wait(item("later"), item("now"), item("due"))
	b.in(func(t *txn.Txn) {
		for _, i := range b.readAll(t) {
			delay := map[string]time.Duration{"later": time.Hour, "now": 0, "due": time.Microsecond}[i.Delivery.Key]
			b.must(b.Store.Backlog().Reschedule(b.ctx, t, i.RowID, delay, 3))
		}
	})
	items := b.ready()
	b.wantKeys("ready", items, "now")
	if n := items[0].Delivery.Attempt; n != 3 {
		b.Errorf("the next run is number %d, want 3", n)
	}
	b.await("a due row", func() bool { return b.poll(nil).Due })
	if n := b.promote(10); n != 1 {
		b.Errorf("promoted %d rows, want the due one", n)
	}
	about(b, "Next", b.poll(nil).Next, time.Hour)
}

func backlogDelete(b *bundle) {
	b.wait(item("a"), item("b"), item("c"))
	b.in(func(t *txn.Txn) {
		b.remove(t, "a", "c")
		b.move(t, inbox.Waiting, inbox.Done, "a", "c")
		b.must(b.Store.Backlog().Delete(b.ctx, t, nil))
	})
	b.wantKeys("left", b.ready(), "b")
	var row int64
	b.in(func(t *txn.Txn) {
		row = b.readAll(t)[0].RowID
		b.must(b.Store.Backlog().Reschedule(b.ctx, t, row, time.Hour, 1))
	})
	b.in(func(t *txn.Txn) {
		b.must(b.Store.Backlog().Delete(b.ctx, t, []int64{row, row + 1000}))
		b.move(t, inbox.Waiting, inbox.Done, "b")
	})
	if p := b.poll(nil); p.Next != 0 {
		b.Errorf("a deleted delayed row is polled: %+v", p)
	}
}

func backlogDepth(b *bundle) {
	if d, err := b.Store.Backlog().Depth(b.ctx, consumer); err != nil || d != (backlog.Depth{}) {
		b.Errorf("of an empty backlog: %+v, %v", d, err)
	}
	late, second, other := item("late"), ordered("second", "k"), item("theirs")
	late.Delay, second.Blocked = time.Hour, true
	other.Consumer, other.Delivery.Scope = "bill", "bill/orders.paid"
	b.wait(ordered("first", "k"), item("free"), late, other)
	b.wait(second)
	for name, want := range map[string]backlog.Depth{
		consumer: {Ready: 2, Delayed: 1, Blocked: 1}, "bill": {Ready: 1}, "": {Ready: 3, Delayed: 1, Blocked: 1}, "b": {},
	} {
		d, err := b.Store.Backlog().Depth(b.ctx, name)
		b.must(err)
		if old := d.Oldest; old < 0 || old > time.Hour || (old == 0) != (want.Ready == 0) {
			b.Errorf("consumer %q: oldest ready row is %s old", name, old)
		}
		d.Oldest = 0
		if d != want {
			b.Errorf("depth of %q is %+v, want %+v", name, d, want)
		}
	}
}
