package storetest

import (
	"cmp"
	"slices"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

// setByStores are the fields of an item that its writer does not choose.
var setByStores = cmpopts.IgnoreFields(backlog.Item{}, "RowID", "Place", "Postponed")

//evidence:bytes
func backlogKeeps(b *bundle) {
	var want []backlog.Item
	for n, a := range awkward {
		i := ordered(a.name, "order "+a.name)
		i.Delivery.Payload, i.Delivery.Metadata, i.Delivery.Attempt = a.payload, a.metadata, n+2
		i.Strict, i.Spent, i.Reruns, i.LetterID, i.Redrives = n%2 == 0, n, n+3, int64(n)<<33, n+1
		want = append(want, i)
	}
	bare := backlog.Item{Consumer: consumer, Delivery: headrace.Delivery{Scope: scope, Key: "bare", OrderKey: "bare"}}
	bare.Delivery.Metadata = map[string]string{}
	want = append(want, bare)
	b.wait(want...)
	got := b.ready()
	slices.SortFunc(got, func(a, b backlog.Item) int { return cmp.Compare(a.RowID, b.RowID) })
	if diff := gocmp.Diff(want, got, asKept, setByStores); diff != "" {
		b.Errorf("rows of the backlog (-want +got):\n%.4000s", diff)
	}
	for n, i := range got {
		if i.Delivery.Metadata == nil {
			b.Errorf("%s: nil Metadata", i.Delivery.Key)
		}
		if i.RowID <= 0 || i.Place <= 0 || n > 0 && i.Place <= got[n-1].Place {
			b.Errorf("%s: row %d, place %d", i.Delivery.Key, i.RowID, i.Place)
		}
	}
}

// backlogKeyless: what a publisher puts there has no key before its consumer computes it.
func backlogKeyless(b *bundle) {
	one := keyed("", "customer")
	one.Delivery.Fingerprint = ""
	b.wait(one, one)
	b.in(func(t *txn.Txn) {
		got := b.readAll(t)
		if len(got) != 2 || got[0].RowID == got[1].RowID {
			b.Fatalf("%+v", got)
		}
		if diff := gocmp.Diff([]backlog.Item{one, one}, got, asKept, setByStores); diff != "" {
			b.Errorf("rows without a key (-want +got):\n%.4000s", diff)
		}
	})
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_backlog WHERE key IS NULL AND fingerprint IS NULL"); n != 2 {
		b.Errorf("%d rows have neither key nor fingerprint", n)
	}
}

func backlogPoll(b *bundle) {
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
	b.in(func(t *txn.Txn) { marks[line] = b.read(t, line, 0, 10)[2].Place })
	if p := b.poll(marks); len(p.Shards) != 0 {
		b.Errorf("with every row marked: %+v", p)
	}
	marks[line]--
	if p := b.poll(marks); len(p.Shards) != 1 {
		b.Errorf("with a row above the mark: %+v", p)
	}
	if _, err := b.Store.Backlog().Poll(b.ctx, consumer, marks[1:]); err == nil {
		b.Error("too few marks were taken")
	}
}

func backlogConsumers(b *bundle) {
	other := ordered("theirs", "customer")
	other.Consumer, other.Delivery.Scope = "bill", "bill/orders.paid"
	late := later(other, time.Hour)
	late.Delivery.Key, late.Delivery.OrderKey, late.Strict = "later", "", false
	b.wait(other, late)
	b.shift(2 * time.Hour)
	if p, err := b.Store.Backlog().Poll(b.ctx, "bill", make([]int64, backlog.Shards)); err != nil || !p.Due {
		b.Errorf("of bill: %+v, %v", p, err)
	}
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
	b.wait(later(item("day"), 24*time.Hour), later(item("hour"), time.Hour))
	p := b.poll(nil)
	if len(p.Shards) != 0 || p.Due {
		b.Errorf("undue rows are reported: %+v", p)
	}
	about(b, "Next", p.Next, time.Hour)
	b.shift(59 * time.Minute)
	about(b, "Next, 59 minutes later", b.poll(nil).Next, time.Minute)
	if n := b.promote(10); n != 0 {
		b.Errorf("promoted %d undue rows", n)
	}
	b.wantKeys("ready", b.ready())
}

// backlogPromote: a worker that has a mark finds the promoted row above it.
func backlogPromote(b *bundle) {
	b.wait(later(ordered("soon", "x"), time.Minute), later(item("never"), 10*time.Hour))
	b.wait(ordered("ready", "y"))
	id, mark := b.rowID(b.DB, "soon"), b.ready()[0].Place
	b.shift(time.Hour)
	if p := b.poll(nil); !p.Due || p.Next != 0 || len(p.Shards) != 1 {
		b.Errorf("with a due row: %+v, want Due, no Next, and no shard of it", p)
	}
	if n := b.promote(10); n != 1 {
		b.Errorf("promoted %d rows, want 1", n)
	}
	b.in(func(t *txn.Txn) {
		got := b.read(t, shard.Of("x"), mark, 10)
		b.wantKeys("above the mark", got, "soon")
		if got[0].RowID != id || got[0].Place <= mark {
			b.Errorf("row %d at %d, want row %d above %d", got[0].RowID, got[0].Place, id, mark)
		}
	})
	p := b.poll(nil)
	if p.Due || len(p.Shards) == 0 {
		b.Errorf("after Promote: %+v", p)
	}
	about(b, "Next", p.Next, 9*time.Hour)
}

func backlogPromoteOrder(b *bundle) {
	b.wait(later(keyed("third", "x"), 3*time.Minute), later(keyed("first", "x"), time.Minute), later(keyed("second", "x"), 2*time.Minute))
	b.shift(time.Hour)
	b.promote(10)
	b.wantKeys("promoted", b.ready(), "first", "second", "third")
}

func backlogPromoteLimit(b *bundle) {
	var items []backlog.Item
	for _, key := range []string{"a", "b", "c", "d", "e"} {
		items = append(items, later(item(key), time.Minute))
	}
	b.wait(items...)
	b.shift(time.Hour)
	for _, want := range []int{2, 2, 1, 0} {
		if n := b.promote(2); n != want {
			b.Errorf("promoted %d rows, want %d", n, want)
		}
	}
	if n := len(b.ready()); n != 5 {
		b.Errorf("%d ready rows, want 5", n)
	}
	if n := b.promote(0); n != 0 {
		b.Errorf("promoted %d rows of none", n)
	}
}

func backlogReschedule(b *bundle) {
	b.wait(item("later"), item("now"), item("due"), item("other"))
	before := make(map[string]backlog.Item)
	b.in(func(t *txn.Txn) {
		var changes []backlog.Change
		for _, i := range b.readAll(t) {
			before[i.Delivery.Key] = i
			if delay, ok := map[string]time.Duration{"later": 3 * time.Hour, "now": 0, "due": time.Hour}[i.Delivery.Key]; ok {
				changes = append(changes, backlog.Change{RowID: i.RowID, Delay: delay, Attempt: 3, Reruns: 2})
			}
		}
		b.must(b.Store.Backlog().Reschedule(b.ctx, t, changes))
		b.must(b.Store.Backlog().Reschedule(b.ctx, t, nil))
	})
	b.in(func(t *txn.Txn) {
		now, other := b.row(t, "now"), b.row(t, "other")
		if now.Delivery.Attempt != 3 || now.Reruns != 2 || now.RowID != before["now"].RowID || now.Place <= before["other"].Place {
			b.Errorf("run again: %+v, before it was row %d", now, before["now"].RowID)
		}
		if diff := gocmp.Diff(before["other"], other, asKept); diff != "" {
			b.Errorf("a row that was not asked for (-want +got):\n%s", diff)
		}
	})
	if n := len(b.ready()); n != 2 {
		b.Errorf("%d ready rows, want 2", n)
	}
	about(b, "Next", b.poll(nil).Next, time.Hour)
	b.shift(2 * time.Hour)
	if n := b.promote(10); n != 1 {
		b.Errorf("promoted %d rows, want the due one", n)
	}
	about(b, "Next", b.poll(nil).Next, time.Hour)
}

func backlogRescheduleOrder(b *bundle) {
	b.wait(keyed("a", "x"), keyed("b", "x"), keyed("c", "x"))
	b.in(func(t *txn.Txn) {
		var changes []backlog.Change
		for _, key := range []string{"c", "a", "b"} {
			changes = append(changes, backlog.Change{RowID: b.rowID(t, key), Attempt: 2})
		}
		b.must(b.Store.Backlog().Reschedule(b.ctx, t, changes))
		b.wantKeys("run again", b.read(t, shard.Of("x"), 0, 10), "c", "a", "b")
	})
}

//evidence:postpone
func backlogPostponed(b *bundle) {
	b.wait(item("a"))
	for n, step := range []struct {
		change    backlog.Change
		postponed time.Duration // of the next run
	}{
		{backlog.Change{Delay: time.Hour, Attempt: 1, Postponed: true}, time.Hour},
		{backlog.Change{Delay: time.Hour, Attempt: 1, Postponed: true}, 2 * time.Hour}, // counted on
		{backlog.Change{Delay: time.Hour, Attempt: 2}, 0},
		{backlog.Change{Delay: time.Hour, Attempt: 2, Postponed: true}, time.Hour},
	} {
		b.in(func(t *txn.Txn) { b.reschedule(t, "a", step.change) })
		if d, err := b.Store.Backlog().Depth(b.ctx, consumer); err != nil || d.Delayed != 1 || (d.Postponed == 1) != step.change.Postponed {
			b.Errorf("step %d: depth %+v, %v", n, d, err)
		}
		b.shift(time.Duration(n+1) * time.Hour)
		if promoted := b.promote(1); promoted != 1 {
			b.Fatalf("step %d: %d due rows", n, promoted)
		}
		got := b.ready()[0].Postponed
		if got < step.postponed || got > step.postponed+time.Minute {
			b.Errorf("step %d: postponed for %s, want %s", n, got, step.postponed)
		}
	}
	b.in(func(t *txn.Txn) { b.move(t, inbox.Waiting, inbox.Done, "a"); b.remove(t, "a") })
	kept := item("kept")
	kept.Postponed, kept.Reason = 3*time.Hour, "not yet"
	b.wait(kept)
	about(b, "what was postponed when it was put", b.ready()[0].Postponed, 3*time.Hour+time.Minute)
}

// backlogShown: Find says how a waiting message waits, and why.
func backlogShown(b *bundle) {
	put := item("a")
	put.Delay, put.Postponed, put.Reason = time.Hour, 1, "not yet"
	b.wait(put)
	wait := func() inbox.Wait {
		b.Helper()
		entries, err := b.Store.Inbox().Find(b.ctx, "a")
		if err != nil || len(entries) != 1 {
			b.Fatalf("%+v, %v", entries, err)
		}
		return entries[0].Wait
	}
	now := time.Now()
	if w := wait(); w.Status != "delayed" || w.Reason != "not yet" || w.Due.Sub(w.Postponed).Round(time.Minute) != time.Hour || w.Postponed.Sub(now).Abs() > time.Hour {
		b.Errorf("postponed when it was put: %+v", w)
	}
	for _, step := range []struct {
		change    backlog.Change
		status    string
		postponed bool // only an attempt ends it
	}{
		{backlog.Change{Delay: time.Hour, Attempt: 1, Reruns: 1, Reason: "lost\x00 \xff"}, "delayed", true},
		{backlog.Change{Attempt: 1, Postponed: true, Reason: "again"}, "ready", true},
		{backlog.Change{Attempt: 2}, "ready", false},
	} {
		b.in(func(t *txn.Txn) { b.reschedule(t, "a", step.change) })
		w := wait()
		if w.Status != step.status || w.Due.IsZero() != (step.change.Delay == 0) || w.Postponed.IsZero() == step.postponed || (w.Reason == "") != (step.change.Reason == "") {
			b.Errorf("after %+v: %+v", step.change, w)
		}
	}
	b.in(func(t *txn.Txn) { b.move(t, inbox.Waiting, inbox.Done, "a"); b.remove(t, "a") })
	if w := wait(); w != (inbox.Wait{}) {
		b.Errorf("a message that is done: %+v", w)
	}
}

func backlogDelete(b *bundle) {
	b.wait(item("a"), item("b"), item("c"))
	b.in(func(t *txn.Txn) {
		b.remove(t, "a", "c")
		b.move(t, inbox.Waiting, inbox.Done, "a", "c")
		b.must(b.Store.Backlog().Delete(b.ctx, t, nil))
	})
	b.wantKeys("left", b.ready(), "b")
	b.in(func(t *txn.Txn) { b.reschedule(t, "b", backlog.Change{Delay: time.Hour}) })
	b.in(func(t *txn.Txn) {
		row := b.rowID(t, "b")
		b.must(b.Store.Backlog().Delete(b.ctx, t, []int64{row, row + 1000}))
		b.move(t, inbox.Waiting, inbox.Done, "b")
	})
	if p := b.poll(nil); p.Next != 0 {
		b.Errorf("a deleted delayed row is polled: %+v", p)
	}
}
