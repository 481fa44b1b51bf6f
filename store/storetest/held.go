package storetest

import (
	"fmt"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

var heldTests = []test{
	{name: "a held row keeps its id, its fields and why", run: heldKeeps},
	{name: "Hold changes a row that is held, and passes over one that is gone", run: heldChanges},
	{name: "only backoff, parked and behind block an order", run: heldBlocked},
	{name: "followers come after their head, and only when it is due", run: heldFollowers},
	{name: "followers of a parked row wait for a person", run: heldParked},
	{name: "when a head goes, the row behind it is due", run: heldNextIsDue},
	{name: "rows of one order never overtake each other", run: heldNoSkip},
	{name: "ReadHeld heeds its limit and keeps the order", run: heldLimit},
	{name: "Unpark makes due those asked for, or all", run: heldUnpark},
	{name: "parked rows are listed by page", run: heldListed},
	{name: "Status tells the lines apart", run: heldStatus},
	{name: "the signal is one for all", run: heldSignal},
}

// held returns what ReadHeld says may be published.
func (b *bundle) held(t *txn.Txn, shard, limit int) []outbox.HeldRow {
	b.Helper()
	rows, err := b.Store.Outbox().ReadHeld(b.ctx, t, shard, limit)
	if err != nil {
		b.Fatalf("ReadHeld: %v", err)
	}
	return rows
}

func (b *bundle) wantHeld(t *txn.Txn, shard int, want ...string) []outbox.HeldRow {
	b.Helper()
	held := b.held(t, shard, 1000)
	rows := make([]outbox.Row, len(held))
	for i, h := range held {
		rows[i] = h.Row
	}
	b.wantIDs("held rows to publish", rows, want...)
	return held
}

func (b *bundle) wantBlocked(t *txn.Txn, shard int, want ...outbox.Block) {
	b.Helper()
	got, err := b.Store.Outbox().Blocked(b.ctx, t, shard)
	if err != nil {
		b.Fatalf("Blocked: %v", err)
	}
	sorted := cmpopts.SortSlices(func(a, b outbox.Block) bool { return a.First < b.First })
	if diff := cmp.Diff(want, got, sorted, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("blocked orders (-want +got):\n%s", diff)
	}
}

// hold holds the ready rows of a shard, one reason for each, by RowID. Backoff and
// delayed ones are due after delay.
func (b *bundle) hold(t *txn.Txn, shard int, delay time.Duration, reasons ...outbox.Reason) []outbox.Row {
	b.Helper()
	rows := b.outboxRead(t, shard, 0, len(reasons))
	if len(rows) != len(reasons) {
		b.Fatalf("%d ready rows, want %d", len(rows), len(reasons))
	}
	holds := make([]outbox.Hold, len(rows))
	for i, r := range rows {
		holds[i] = outbox.Hold{Row: r, Reason: reasons[i], Attempts: i + 1, Error: "refused " + r.Event.ID}
		if reasons[i] == outbox.Backoff || reasons[i] == outbox.Delayed {
			holds[i].Delay = delay
		}
	}
	b.mustHold(t, holds...)
	return rows
}

func (b *bundle) mustHold(t *txn.Txn, holds ...outbox.Hold) {
	b.Helper()
	if err := b.Store.Outbox().Hold(b.ctx, t, holds); err != nil {
		b.Fatalf("Hold: %v", err)
	}
}

func heldKeeps(b *bundle) {
	var rows []outbox.Row
	for n, a := range awkward {
		e := event("t", "k", n)
		e.Payload, e.Metadata = a.payload, a.metadata
		rows = append(rows, outbox.RowOf(e))
	}
	b.publish(rows...)
	reasons := make([]outbox.Reason, len(rows))
	for i := range reasons {
		reasons[i] = []outbox.Reason{outbox.Backoff, outbox.Behind, outbox.Delayed}[i%3]
	}
	var before []outbox.Row
	b.in(func(t *txn.Txn) { before = b.hold(t, rows[0].Shard, 0, reasons...) })
	b.in(func(t *txn.Txn) {
		b.wantIDs("ready", b.outboxRead(t, rows[0].Shard, 0, 10))
		got := b.held(t, rows[0].Shard, 10)
		if len(got) != len(before) {
			b.Fatalf("%d held rows, want %d", len(got), len(before))
		}
		for i, h := range got {
			want := outbox.HeldRow{Row: before[i], Reason: reasons[i], Error: "refused " + before[i].Event.ID}
			want.Attempts = i + 1
			if diff := cmp.Diff(want, h, asKept, cmpopts.IgnoreFields(outbox.HeldRow{}, "DueIn")); diff != "" {
				b.Errorf("held row %d (-want +got):\n%.4000s", i, diff)
			}
			if h.DueIn > 0 {
				b.Errorf("held row %d is due in %s", i, h.DueIn)
			}
		}
	})
}

func heldChanges(b *bundle) {
	shard := shardOf("t", "k")
	b.publish(rowsOf("t", "k", 1, 2)...)
	var rows []outbox.Row
	b.in(func(t *txn.Txn) { rows = b.hold(t, shard, time.Hour, outbox.Backoff, outbox.Behind) })
	b.in(func(t *txn.Txn) {
		b.wantHeld(t, shard)
		b.mustHold(t, outbox.Hold{Row: rows[0], Reason: outbox.Backoff, Attempts: 7, Error: "again"})
	})
	b.in(func(t *txn.Txn) {
		held := b.wantHeld(t, shard, "event-1", "event-2")
		if held[0].Attempts != 7 || held[0].Error != "again" {
			b.Errorf("the row after the second Hold: %+v", held[0])
		}
		b.must(b.Store.Outbox().Delete(b.ctx, t, shard, []int64{rows[0].RowID}))
		b.mustHold(t, outbox.Hold{Row: rows[0], Reason: outbox.Parked})
		b.wantHeld(t, shard, "event-2")
		b.mustHold(t, outbox.Hold{Row: rows[1], Reason: outbox.Parked, Attempts: 9})
		b.wantHeld(t, shard)
		b.wantBlocked(t, shard, outbox.Block{Order: outbox.Order{Topic: "t", Key: "k"}, First: rows[1].RowID})
	})
}

func heldBlocked(b *bundle) {
	for n, reason := range []outbox.Reason{outbox.Delayed, outbox.Backoff, outbox.Parked} {
		key := string(reason)
		shard := shardOf("t", key)
		b.publish(rowsOf("t", key, 10*n, 3)...)
		b.in(func(t *txn.Txn) {
			b.wantBlocked(t, shard)
			rows := b.hold(t, shard, time.Hour, outbox.Delayed, reason)
			if reason == outbox.Delayed {
				b.wantBlocked(t, shard)
				return
			}
			block := outbox.Block{Order: outbox.Order{Topic: "t", Key: key}, First: rows[1].RowID}
			b.wantBlocked(t, shard, block)
			b.hold(t, shard, 0, outbox.Behind)
			b.wantBlocked(t, shard, block)
		})
		b.in(func(t *txn.Txn) { b.clear(t, shard) })
	}
	b.publish(rowsOf("t", "a", 1, 1)...)
	twin := rowsOf("other", "a", 2, 1)
	twin[0].Shard = shardOf("t", "a") // two orders of one shard
	b.publish(twin...)
	b.in(func(t *txn.Txn) {
		rows := b.hold(t, shardOf("t", "a"), time.Hour, outbox.Parked, outbox.Backoff)
		b.wantBlocked(t, shardOf("t", "a"), outbox.Block{Order: outbox.Order{Topic: "t", Key: "a"}, First: rows[0].RowID},
			outbox.Block{Order: outbox.Order{Topic: "other", Key: "a"}, First: rows[1].RowID})
		b.clear(t, shardOf("t", "a"))
	})
	// A row without an order holds up no other.
	row := outbox.RowOf(event("t", "", 99))
	b.publish(row)
	b.in(func(t *txn.Txn) {
		b.hold(t, row.Shard, time.Hour, outbox.Parked)
		b.wantBlocked(t, row.Shard)
	})
}

// clear deletes every row of a shard.
func (b *bundle) clear(t *txn.Txn, shard int) {
	b.Helper()
	b.exec(t, "DELETE FROM {{schema}}.headrace_outbox WHERE shard = $1", shard)
	b.exec(t, "DELETE FROM {{schema}}.headrace_outbox_held WHERE shard = $1", shard)
}

func heldFollowers(b *bundle) {
	shard := shardOf("t", "k")
	b.publish(rowsOf("t", "k", 1, 3)...)
	var rows []outbox.Row
	b.in(func(t *txn.Txn) { rows = b.hold(t, shard, time.Hour, outbox.Backoff, outbox.Behind, outbox.Behind) })
	p := b.outboxPoll(nil)
	b.wantShards("while the head is not due", p)
	about(b, "Next", p.Next, time.Hour)
	b.in(func(t *txn.Txn) {
		b.wantHeld(t, shard)
		b.mustHold(t, outbox.Hold{Row: rows[0], Reason: outbox.Backoff, Attempts: 2})
	})
	b.wantShards("when the head is due", b.outboxPoll(nil), shard)
	b.in(func(t *txn.Txn) { b.wantHeld(t, shard, "event-1", "event-2", "event-3") })
}

func heldParked(b *bundle) {
	shard := shardOf("t", "k")
	b.publish(rowsOf("t", "k", 1, 2)...)
	b.in(func(t *txn.Txn) { b.hold(t, shard, 0, outbox.Parked, outbox.Behind) })
	p := b.outboxPoll(nil)
	b.wantShards("behind a parked row", p)
	if p.Next != 0 {
		b.Errorf("Next is %s for rows that wait for a person", p.Next)
	}
	b.in(func(t *txn.Txn) { b.wantHeld(t, shard) })
}

// heldNextIsDue: otherwise no look for work would find the followers of a head
// that was published before a crash.
func heldNextIsDue(b *bundle) {
	shard := shardOf("t", "k")
	b.publish(rowsOf("t", "k", 1, 3)...)
	var rows []outbox.Row
	b.in(func(t *txn.Txn) { rows = b.hold(t, shard, time.Hour, outbox.Parked, outbox.Behind, outbox.Behind) })
	for i, want := range [][]string{{"event-2", "event-3"}, {"event-3"}, nil} {
		b.in(func(t *txn.Txn) { b.must(b.Store.Outbox().Delete(b.ctx, t, shard, []int64{rows[i].RowID})) })
		var shards []int
		if want != nil {
			shards = []int{shard}
		}
		b.wantShards(fmt.Sprintf("after %d were published", i+1), b.outboxPoll(nil), shards...)
		b.in(func(t *txn.Txn) { b.wantHeld(t, shard, want...) })
	}
}

// heldNoSkip: a due row behind one of its order that is not due stays where it is
// (invariant 9).
//
//evidence:event-order
func heldNoSkip(b *bundle) {
	shard := shardOf("t", "k")
	b.publish(rowsOf("t", "k", 1, 3)...)
	var rows []outbox.Row
	b.in(func(t *txn.Txn) {
		rows = b.hold(t, shard, time.Hour, outbox.Backoff, outbox.Backoff, outbox.Behind)
		b.mustHold(t, outbox.Hold{Row: rows[1], Reason: outbox.Backoff})
	})
	b.in(func(t *txn.Txn) {
		b.wantHeld(t, shard)
		b.mustHold(t, outbox.Hold{Row: rows[0], Reason: outbox.Backoff}, outbox.Hold{Row: rows[1], Reason: outbox.Backoff, Delay: time.Hour})
		for _, h := range b.held(t, shard, 10) {
			if h.Event.ID == "event-3" {
				b.Error("a row behind one that is not due may be published")
			}
		}
		b.mustHold(t, outbox.Hold{Row: rows[0], Reason: outbox.Backoff, Delay: time.Hour})
		b.wantHeld(t, shard)
	})
	// Another order of the shard goes on.
	other := rowsOf("t", "k", 9, 1)
	other[0].Event.OrderKey = "other"
	b.publish(other...)
	b.in(func(t *txn.Txn) { b.hold(t, shard, 0, outbox.Backoff) })
	b.in(func(t *txn.Txn) {
		b.wantHeld(t, shard, "event-9")
		b.clear(t, shard)
	})
}

func heldLimit(b *bundle) {
	shard := shardOf("t", "k")
	b.publish(rowsOf("t", "k", 1, 5)...)
	b.in(func(t *txn.Txn) {
		b.hold(t, shard, 0, outbox.Backoff, outbox.Behind, outbox.Behind, outbox.Behind, outbox.Behind)
	})
	var published []string
	for range 3 {
		b.in(func(t *txn.Txn) {
			rows := b.held(t, shard, 2)
			if len(rows) > 2 {
				b.Errorf("%d rows for a limit of 2", len(rows))
			}
			var gone []int64
			for _, r := range rows {
				published, gone = append(published, r.Event.ID), append(gone, r.RowID)
			}
			b.must(b.Store.Outbox().Delete(b.ctx, t, shard, gone))
		})
	}
	want := []string{"event-1", "event-2", "event-3", "event-4", "event-5"}
	if diff := cmp.Diff(want, published); diff != "" {
		b.Errorf("published (-want +got):\n%s", diff)
	}
}

func heldUnpark(b *bundle) {
	keys := []string{"a", "b", "c"}
	rows := make(map[string]outbox.Row)
	for n, key := range keys {
		b.publish(rowsOf("t", key, 10*n, 2)...)
		b.in(func(t *txn.Txn) { rows[key] = b.hold(t, shardOf("t", key), 0, outbox.Parked, outbox.Behind)[0] })
	}
	admin := b.Store.Outbox()
	for _, step := range []struct {
		rows []int64
		want int
	}{
		{[]int64{rows["b"].RowID, rows["b"].RowID + 1000}, 1}, {[]int64{rows["b"].RowID}, 0}, {nil, 2}, {nil, 0},
	} {
		if n, err := admin.Unpark(b.ctx, "", step.rows); err != nil || n != step.want {
			b.Errorf("Unpark(%v) = %d, %v, want %d", step.rows, n, err, step.want)
		}
		b.in(func(t *txn.Txn) {
			held := b.held(t, shardOf("t", "b"), 10)
			if len(held) < 2 || held[0].Event.ID != "event-10" || held[0].Attempts != 0 || held[0].Reason != outbox.Backoff {
				b.Errorf("after Unpark(%v) the held rows are %+v", step.rows, held)
			}
		})
	}
	b.wantShards("after all were unparked", b.outboxPoll(nil), distinct(shardOf("t", "a"), shardOf("t", "b"), shardOf("t", "c"))...)
}

func distinct(shards ...int) []int {
	var list []int
	seen := make(map[int]bool)
	for _, s := range shards {
		if !seen[s] {
			list, seen[s] = append(list, s), true
		}
	}
	return list
}

func heldListed(b *bundle) {
	shard := shardOf("t", "k")
	b.publish(rowsOf("t", "k", 1, 4)...)
	b.in(func(t *txn.Txn) {
		b.hold(t, shard, time.Hour, outbox.Parked, outbox.Backoff, outbox.Parked, outbox.Parked)
	})
	page, err := b.Store.Outbox().Parked(b.ctx, "", 0, 2)
	b.must(err)
	rest, err := b.Store.Outbox().Parked(b.ctx, "", page[len(page)-1].RowID, 2)
	b.must(err)
	var rows []outbox.Row
	for _, h := range append(page, rest...) {
		rows = append(rows, h.Row)
		if h.Reason != outbox.Parked || len(h.Event.Payload) != 0 || h.Error != "refused "+h.Event.ID || h.Shard != shard || h.Event.Topic != "t" || h.Event.OrderKey != "k" {
			b.Errorf("parked row: %+v", h)
		}
	}
	b.wantIDs("parked", rows, "event-1", "event-3", "event-4")
}

func heldStatus(b *bundle) {
	if s, err := b.Store.Outbox().Status(b.ctx); err != nil || s != (outbox.Status{Outbox: outbox.DefaultName}) {
		b.Errorf("of an empty outbox: %+v, %v", s, err)
	}
	b.publish(rowsOf("t", "k", 1, 6)...)
	b.in(func(t *txn.Txn) {
		b.hold(t, shardOf("t", "k"), time.Hour, outbox.Parked, outbox.Behind, outbox.Backoff, outbox.Delayed)
	})
	s, err := b.Store.Outbox().Status(b.ctx)
	b.must(err)
	if s.Oldest <= 0 || s.Oldest > time.Hour {
		b.Errorf("the oldest ready row is %s old", s.Oldest)
	}
	s.Oldest = 0
	if want := (outbox.Status{Outbox: outbox.DefaultName, Ready: 2, Delayed: 2, Parked: 1, Behind: 1}); s != want {
		b.Errorf("status %+v, want %+v", s, want)
	}
}

func heldSignal(b *bundle) {
	b.Store.Outbox().Signal().Wake()
	receive(b, b.Store.Outbox().Signal().C())
}
