package storetest

import (
	"fmt"
	"strings"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

var readTests = []test{
	{name: "rows come by place, above the mark, at most limit", run: readLimit},
	{name: "payloads end a read, but for the first", run: readBytes},
	{name: "rows of other handlers come without their content, and take no bytes", run: readHandlers},
	{name: "a read may be narrowed to rows", run: readSome},
	{name: "rows that the caller passed over do not come again", run: readPassedOver},
	{name: "a row is behind an earlier one that is not ready, or comes later", run: readBehind},
	{name: "rows that are not strict are behind none", run: readLoose},
	{name: "a row is followed by those blocked behind it", run: readFollowed},
}

func readLimit(b *bundle) {
	line := shard.Of("customer")
	b.wait(keyed("1", "customer"), keyed("2", "customer"))
	b.wait(keyed("3", "customer"))
	b.in(func(t *txn.Txn) {
		all := b.read(t, line, 0, 10)
		b.wantKeys("the shard in order", all, "1", "2", "3")
		b.wantKeys("the first two", b.read(t, line, 0, 2), "1", "2")
		before := t.Savepoint("suite")
		for done, want := range map[int][]string{0: {"2", "3"}, 2: nil} {
			b.must(before.Set(b.ctx))
			b.must(b.Store.Backlog().Delete(b.ctx, t, rowIDs(all[:done+1])))
			b.wantKeys("above what is done", b.read(t, line, all[done].Place, 10), want...)
			b.must(before.RollbackTo(b.ctx))
			b.must(before.Release(b.ctx))
		}
		b.wantKeys("another shard", b.read(t, (line+1)%backlog.Shards, 0, 10))
	})
}

// sized returns a row of the shard of "k" with so many bytes of payload.
func sized(key string, bytes int) backlog.Item {
	i := keyed(key, "k")
	i.Delivery.Payload = []byte(strings.Repeat("x", bytes))
	return i
}

//evidence:backlog-bytes
func readBytes(b *bundle) {
	b.wait(sized("1", 5000), sized("2", 100), sized("3", 3000), sized("4", 0), sized("5", 1))
	for bytes, want := range map[int64][]string{
		1: {"1"}, 5000: {"1"}, 5099: {"1"}, 5100: {"1", "2"}, 8099: {"1", "2"}, 8100: {"1", "2", "3", "4"}, 8101: {"1", "2", "3", "4", "5"},
	} {
		r := reading(shard.Of("k"), 0, 10)
		r.Bytes = bytes
		b.in(func(t *txn.Txn) { b.wantKeys("within the bytes", b.readRows(t, r), want...) })
	}
}

func readHandlers(b *bundle) {
	foreign := sized("foreign", 5000)
	foreign.Handler = "refunds"
	b.wait(foreign, sized("own", 100), sized("last", 100))
	r := reading(shard.Of("k"), 0, 10)
	r.Handlers, r.Bytes = []string{"x", handler}, 100
	b.in(func(t *txn.Txn) {
		got := b.readRows(t, r)
		b.wantKeys("rows", got, "foreign", "own")
		if d := got[0].Delivery; len(d.Payload) != 0 || len(d.Metadata) != 0 || d.Metadata == nil || got[0].Handler != "refunds" || d.Topic != "orders" {
			b.Errorf("of another handler: %+v", got[0])
		}
		if d := got[1].Delivery; len(d.Payload) != 100 || len(d.Metadata) == 0 {
			b.Errorf("of a handler of the caller's: %d bytes, %v", len(d.Payload), d.Metadata)
		}
		r.Handlers = nil
		if all := b.readRows(t, r); len(all) != 3 || len(all[2].Delivery.Payload) != 0 {
			b.Errorf("for no handler: %d rows", len(all))
		}
	})
}

func readSome(b *bundle) {
	b.wait(keyed("1", "k"), keyed("2", "k"), keyed("3", "k"), keyed("elsewhere", "customer"))
	b.in(func(t *txn.Txn) {
		r := reading(shard.Of("k"), 0, 10)
		r.Rows = []int64{b.rowID(t, "3"), b.rowID(t, "1"), b.rowID(t, "elsewhere"), -1}
		b.wantKeys("those asked for", b.readRows(t, r), "1", "3")
		r.Rows = []int64{}
		b.wantKeys("none asked for", b.readRows(t, r))
	})
}

// readPassedOver: rows that stay where they are, as those of a handler that is not
// deployed any more, must not use up the limit of every read. A store may return them until
// all transactions have ended that were open when they were passed over.
func readPassedOver(b *bundle) {
	b.wait(keyed("left 1", "k"), keyed("left 2", "k"))
	mark, n := int64(0), 0
	b.await("a read without what was passed over", func() bool {
		n++
		b.wait(keyed(fmt.Sprint("new ", n), "k"))
		var got []backlog.Item
		b.in(func(t *txn.Txn) {
			got = b.read(t, shard.Of("k"), mark, 3)
			for _, i := range got {
				if mark = max(mark, i.Place); !strings.HasPrefix(i.Delivery.Key, "left") {
					b.done(t, i)
				}
			}
		})
		if last := got[len(got)-1]; last.Delivery.Key != fmt.Sprint("new ", n) {
			b.Fatalf("read %d: %q", n, keysOf(got))
		}
		return len(got) == 1
	})
}

// readBehind also is why a place is drawn anew: rows that are run again come behind.
//
//evidence:strict
func readBehind(b *bundle) {
	want := func(what string, behind ...string) {
		b.Helper()
		b.in(func(t *txn.Txn) {
			var got []backlog.Item
			for _, i := range b.read(t, shard.Of("k"), 0, 10) {
				if i.Behind {
					got = append(got, i)
				}
			}
			b.wantKeys(what+": behind", got, behind...)
		})
	}
	other := ordered("other scope", "k")
	other.Delivery.Scope = "billing/orders"
	b.wait(ordered("m1", "k"), ordered("m2", "k"), ordered("m3", "k"), other, ordered("other key", "l"))
	want("all ready, in their order")
	b.in(func(t *txn.Txn) { b.reschedule(t, "m2", backlog.Change{}) })
	want("m2 runs again", "m3")
	b.in(func(t *txn.Txn) { b.reschedule(t, "m1", backlog.Change{Delay: 1e9}) })
	want("m1 is delayed", "m3", "m2")
	b.in(func(t *txn.Txn) { b.must(b.leases().MoveToLeased(b.ctx, t, []int64{b.rowID(t, "m2")})) })
	want("m2 waits for a lease", "m3")
	b.in(func(t *txn.Txn) {
		b.exec(t, "DELETE FROM {{schema}}.headrace_backlog WHERE key IN ('m1', 'm2')")
		b.move(t, "waiting", "done", "m1", "m2")
	})
	want("they are gone")
}

func readLoose(b *bundle) {
	none := ordered("no order key", "")
	b.wait(later(keyed("m1", "k"), 1e12), keyed("m2", "k"), none)
	for _, i := range b.ready() {
		if i.Behind || i.Followed {
			b.Errorf("%+v", i)
		}
	}
}

func readFollowed(b *bundle) {
	b.wait(ordered("m1", "k"), ordered("n1", "l"))
	b.wait(ordered("m2", "k"))
	followed := func() string {
		var keys []string
		for _, i := range b.ready() {
			if i.Followed {
				keys = append(keys, i.Delivery.Key)
			}
		}
		return strings.Join(keys, " ")
	}
	if got := followed(); got != "" {
		b.Errorf("followed: %s", got)
	}
	b.in(func(t *txn.Txn) { b.reschedule(t, "m1", backlog.Change{}) })
	b.in(func(t *txn.Txn) { b.block(t, "m2") })
	other := ordered("theirs", "k") // the same key of another scope
	other.Delivery.Scope = "billing/refunds"
	b.wait(other, ordered("another key", "l"))
	if got := followed(); got != "m1" {
		b.Errorf("followed: %q, want m1", got)
	}
	b.in(func(t *txn.Txn) { b.release(t, 10, "k") })
	if got := followed(); got != "" {
		b.Errorf("after the release followed: %s", got)
	}
}
