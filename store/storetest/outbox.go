package storetest

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

var outboxTests = []test{
	{name: "rows keep every field, byte for byte", run: outboxKeeps},
	{name: "rows stand in the order in which they were written", run: outboxOrder},
	{name: "an order has one shard, for every writer", run: outboxShard},
	{name: "no rows are no statement", run: outboxEmpty},
	{name: "the caller's own transaction decides", run: outboxForeign},
	{name: "rows are polled in their shards, and read by mark and limit", run: outboxRead},
	{name: "a delayed row is not polled or read before it is due", run: outboxDelayed},
	{name: "a delayed row is published when it is due", run: outboxDue},
	{name: "Delete removes from both lines and passes over what is gone", run: outboxDelete},
	{name: "a late committer is found below the mark", run: outboxLateCommitter, needs: concurrentWriters},
}

// publish commits rows of events.
func (b *bundle) publish(rows ...outbox.Row) {
	b.Helper()
	b.in(func(t *txn.Txn) { b.must(b.Store.Outbox().Insert(b.ctx, t, rows)) })
}

// rowsOf returns count rows of an order, numbered from first.
func rowsOf(topic, key string, first, count int) []outbox.Row {
	var rows []outbox.Row
	for n := first; n < first+count; n++ {
		rows = append(rows, outbox.RowOf(event(topic, key, n)))
	}
	return rows
}

func shardOf(topic, key string) int { return outbox.RowOf(event(topic, key, 0)).Shard }

func (b *bundle) outboxRead(t *txn.Txn, shard int, after int64, limit int) []outbox.Row {
	b.Helper()
	rows, err := b.Store.Outbox().Read(b.ctx, t, shard, after, limit)
	if err != nil {
		b.Fatalf("Read: %v", err)
	}
	return rows
}

// lineOf returns the ready rows of a shard, in a transaction of its own.
func (b *bundle) lineOf(shard int) (rows []outbox.Row) {
	b.Helper()
	b.in(func(t *txn.Txn) { rows = b.outboxRead(t, shard, 0, 1000) })
	return rows
}

func (b *bundle) outboxPoll(marks []int64) outbox.Poll {
	b.Helper()
	if marks == nil {
		marks = make([]int64, outbox.Shards)
	}
	p, err := b.Store.Outbox().Poll(b.ctx, marks)
	if err != nil {
		b.Fatalf("Poll: %v", err)
	}
	return p
}

func (b *bundle) wantIDs(what string, got []outbox.Row, want ...string) {
	b.Helper()
	var ids []string
	for i, r := range got {
		ids = append(ids, r.Event.ID)
		if i > 0 && got[i-1].RowID >= r.RowID {
			b.Errorf("%s: RowIDs %d, %d", what, got[i-1].RowID, r.RowID)
		}
	}
	if diff := cmp.Diff(want, ids, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (b *bundle) wantShards(what string, p outbox.Poll, want ...int) {
	b.Helper()
	sorted := cmpopts.SortSlices(func(a, b int) bool { return a < b })
	if diff := cmp.Diff(want, p.Shards, sorted, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("polled shards %s (-want +got):\n%s", what, diff)
	}
}

func outboxKeeps(b *bundle) {
	var want []outbox.Row
	for n, a := range awkward {
		e := event("t\u00f6pic/"+a.name, "key "+a.name, n)
		e.Payload, e.Metadata = a.payload, a.metadata
		if n%2 == 0 {
			e.OrderKey, e.Trace = "", headrace.TraceContext{}
		}
		want = append(want, outbox.RowOf(e))
	}
	b.publish(want...)
	got := make(map[string]outbox.Row)
	for s := range outbox.Shards {
		for _, r := range b.lineOf(s) {
			if r.Shard != s || r.RowID == 0 || r.Created.IsZero() {
				b.Errorf("row %d of shard %d, read in %d, is of %s", r.RowID, r.Shard, s, r.Created)
			}
			got[r.Event.ID] = r
		}
	}
	for _, w := range want {
		if diff := cmp.Diff(w, got[w.Event.ID], asKept, cmpopts.IgnoreFields(outbox.Row{}, "RowID", "Created")); diff != "" {
			b.Errorf("%s (-want +got):\n%.4000s", w.Event.Topic, diff)
		}
	}
}

// outboxOrder writes in several statements and transactions, through the commit
// and without, more rows at once than a driver may have parameters for.
//
//evidence:event-order
func outboxOrder(b *bundle) {
	const many = 5000
	b.publish(rowsOf("t", "k", 0, many)...)
	b.in(func(t *txn.Txn) {
		b.must(b.Store.Outbox().Insert(b.ctx, t, rowsOf("t", "k", many, 2)))
		b.must(b.Store.Outbox().Insert(b.ctx, t, rowsOf("t", "k", many+2, 1)))
	})
	b.commit(b.begin(), rowsOf("t", "k", many+3, 2)...)
	var want []string
	for n := range many + 5 {
		want = append(want, event("t", "k", n).ID)
	}
	var got []outbox.Row
	b.in(func(t *txn.Txn) { got = b.outboxRead(t, shardOf("t", "k"), 0, 2*many) })
	b.wantIDs("the order", got, want...)
}

func outboxShard(b *bundle) {
	seen := make(map[int]bool)
	for _, key := range []string{"a", "b", "c", "d", "e", "f", "g", "h"} {
		shard := shardOf("t", key)
		seen[shard] = true
		for range 3 {
			if again := shardOf("t", key); again != shard {
				b.Errorf("order %q is on shards %d and %d", key, shard, again)
			}
		}
	}
	if len(seen) < 2 {
		b.Error("eight orders share one shard")
	}
	if shardOf("a", "bc") == shardOf("ab", "c") && shardOf("x", "yz") == shardOf("xy", "z") && shardOf("1", "23") == shardOf("12", "3") {
		b.Error("topic and order key run into each other")
	}
}

// noStatement fails the test if a statement is sent.
type noStatement struct{ tb testing.TB }

func (n noStatement) ExecContext(context.Context, string, ...any) (sql.Result, error) {
	n.tb.Error("a statement for no rows")
	return nil, errors.New("no statement expected")
}

func outboxEmpty(b *bundle) {
	b.must(b.Store.Outbox().Insert(b.ctx, noStatement{b}, nil))
	b.must(b.Store.Outbox().Insert(b.ctx, noStatement{b}, []outbox.Row{}))
	b.in(func(t *txn.Txn) {
		b.must(b.Store.Outbox().Delete(b.ctx, t, 0, nil))
		b.must(b.Store.Outbox().Hold(b.ctx, t, nil))
	})
}

// outboxForeign writes in a transaction that the store knows nothing of.
func outboxForeign(b *bundle) {
	shard := shardOf("t", "k")
	for _, commit := range []bool{false, true} {
		tx, err := b.DB.BeginTx(b.ctx, nil)
		b.must(err)
		b.exec(tx, "INSERT INTO {{schema}}.effects (scope, key) VALUES ('s', 'a')")
		b.must(b.Store.Outbox().Insert(b.ctx, tx, rowsOf("t", "k", 1, 2)))
		if !commit {
			b.must(tx.Rollback())
			b.wantIDs("after a rollback", b.lineOf(shard))
			continue
		}
		b.must(tx.Commit())
		b.wantIDs("after a commit", b.lineOf(shard), "event-1", "event-2")
	}
}

func outboxRead(b *bundle) {
	b.wantShards("of an empty outbox", b.outboxPoll(nil))
	line, other := shardOf("t", "k"), shardOf("t", "other")
	b.publish(rowsOf("t", "k", 1, 3)...)
	b.publish(rowsOf("t", "other", 4, 1)...)
	b.wantShards("with rows", b.outboxPoll(nil), line, other)
	marks := make([]int64, outbox.Shards)
	b.in(func(t *txn.Txn) {
		rows := b.outboxRead(t, line, 0, 10)
		b.wantIDs("the shard", rows, "event-1", "event-2", "event-3")
		b.wantIDs("the first two", b.outboxRead(t, line, 0, 2), "event-1", "event-2")
		for done, want := range map[int][]string{0: {"event-2", "event-3"}, 2: nil} {
			b.without(t, line, rows[:done+1], func() {
				b.wantIDs("above what is done", b.outboxRead(t, line, rows[done].RowID, 10), want...)
			})
		}
		marks[line] = rows[2].RowID
	})
	b.wantShards("with one marked", b.outboxPoll(marks), other)
	marks[line]--
	b.wantShards("with a row above the mark", b.outboxPoll(marks), line, other)
}

func outboxDelayed(b *bundle) {
	rows := rowsOf("t", "k", 1, 3)
	rows[0], rows[1] = delayed(rows[0], 2*time.Hour), delayed(rows[1], time.Hour)
	b.publish(rows...)
	p := b.outboxPoll(nil)
	b.wantShards("of the ready row", p, shardOf("t", "k"))
	about(b, "Next", p.Next, time.Hour)
	b.in(func(t *txn.Txn) {
		b.wantIDs("ready", b.outboxRead(t, rows[0].Shard, 0, 10), "event-3")
		b.wantHeld(t, rows[0].Shard)
		b.wantBlocked(t, rows[0].Shard) // a delayed event stands outside the order
	})
}

func outboxDue(b *bundle) {
	rows := rowsOf("t", "k", 1, 2)
	rows[0] = delayed(rows[0], time.Minute)
	rows[1] = delayed(rows[1], 2*time.Hour)
	b.publish(rows...)
	b.shift(time.Hour)
	b.wantShards("of the due row", b.outboxPoll(nil), rows[0].Shard)
	b.in(func(t *txn.Txn) {
		held := b.wantHeld(t, rows[0].Shard, "event-1")
		if len(held) == 1 && (held[0].Reason != outbox.Delayed || held[0].DueIn > 0) {
			b.Errorf("the due row: %s, due in %s", held[0].Reason, held[0].DueIn)
		}
		b.must(b.Store.Outbox().Delete(b.ctx, t, rows[0].Shard, []int64{held[0].RowID}))
	})
	p := b.outboxPoll(nil)
	b.wantShards("without the due row", p)
	about(b, "Next", p.Next, time.Hour)
}

func outboxDelete(b *bundle) {
	rows := rowsOf("t", "k", 1, 4)
	rows[3] = delayed(rows[3], time.Minute)
	b.publish(rows...)
	b.shift(time.Hour)
	shard := rows[0].Shard
	b.in(func(t *txn.Txn) {
		ready, held := b.outboxRead(t, shard, 0, 10), b.held(t, shard, 10)
		other := (shard + 1) % outbox.Shards
		b.must(b.Store.Outbox().Delete(b.ctx, t, other, []int64{ready[0].RowID, held[0].RowID}))
		b.wantIDs("after a delete in another shard", b.outboxRead(t, shard, 0, 10), "event-1", "event-2", "event-3")
		b.must(b.Store.Outbox().Delete(b.ctx, t, shard, []int64{ready[1].RowID, held[0].RowID, ready[2].RowID + 1000}))
		b.wantIDs("ready", b.outboxRead(t, shard, 0, 10), "event-1", "event-3")
		b.wantHeld(t, shard)
		b.must(b.Store.Outbox().Delete(b.ctx, t, shard, []int64{ready[1].RowID, ready[0].RowID}))
		b.wantIDs("ready", b.outboxRead(t, shard, 0, 10), "event-3")
	})
}

// outboxLateCommitter is why a relay reads the bottom of its shard again: an id
// that was taken early may be committed late, and must not be skipped.
func outboxLateCommitter(b *bundle) {
	late := b.begin()
	b.must(b.Store.Outbox().Insert(b.ctx, late, rowsOf("t", "k", 1, 1)))
	b.publish(rowsOf("t", "k", 2, 1)...)
	line := shardOf("t", "k")
	rows := b.lineOf(line)
	b.wantIDs("before the late commit", rows, "event-2")
	marks := make([]int64, outbox.Shards)
	marks[line] = rows[0].RowID
	b.commit(late)
	b.wantShards("above the mark", b.outboxPoll(marks))
	b.wantShards("with the mark forgotten", b.outboxPoll(nil), line)
	b.wantIDs("after the late commit", b.lineOf(line), "event-1", "event-2")
}
