package storetest

import (
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

func subscriptionsMoved(b *bundle) {
	b.subscribe("old", "t", "u")
	b.subscribe("new", "u")
	rows := rowsOf("t", "k", 0, 3)
	rows[1].Event.Delay = time.Hour
	b.publish(rows...)
	for _, want := range []outbox.Changed{{Subscriptions: 2, Rows: 3}, {}} {
		if got, err := b.subscriptions().Move(b.ctx, "old", "new", "ann"); err != nil || got != want {
			b.Errorf("moved %+v, %v, want %+v", got, err, want)
		}
	}
	b.wantOn(b.line("new"), "0 2", 1)
	b.wantOn(b.line("old"), "", 0)
	list, err := b.subscriptions().List(b.ctx, "")
	b.must(err)
	if len(list) != 2 || list[0].Consumer != "new" || list[1].Consumer != "new" {
		b.Errorf("%+v", list)
	}
	b.publish(rowsOf("t", "k", 3, 1)...)
	b.wantOn(b.line("new"), "0 2 3", 1)
}

// moveRefused wants a Move of old to new to change nothing.
func (b *bundle) moveRefused(why string) {
	b.Helper()
	if got, err := b.subscriptions().Move(b.ctx, "old", "new", "ann"); !errors.Is(err, outbox.ErrRuns) || got != (outbox.Changed{}) {
		b.Errorf("%s: moved %+v, %v", why, got, err)
	}
	b.wantOn(b.line("new"), "", 0)
}

//evidence:local
func subscriptionsMovedRunning(b *bundle) {
	b.subscribe("old", "t")
	b.publish(rowsOf("t", "k", 0, 2)...)
	instances := b.Store.Operations().Instances
	b.must(instances.Start(b.ctx, instance.Instance{ID: "i", Consumer: "old"}))
	b.must(instances.Start(b.ctx, instance.Instance{ID: "j", Consumer: "new"}))
	b.must(instances.Start(b.ctx, instance.Instance{ID: "dead", Consumer: "old"}))
	b.shift(2 * instance.Missed)
	b.must(instances.Beat(b.ctx, "i", instance.Work{}))
	b.moveRefused("one instance runs")
	b.must(instances.End(b.ctx, "i"))
	if got, err := b.subscriptions().Move(b.ctx, "old", "new", "ann"); err != nil || got != (outbox.Changed{Subscriptions: 1, Rows: 2}) {
		b.Errorf("moved %+v, %v", got, err)
	}
	b.wantAudit(audit.Consumer, "old", "move ann: to new: 1 subscriptions, 2 events")
}

// subscriptionsMovedBusy: a process without a beat has taken rows of the line.
func subscriptionsMovedBusy(b *bundle) {
	b.subscribe("old", "t")
	b.publish(rowsOf("t", "k", 0, 2)...)
	b.in(func(t *txn.Txn) {
		_, err := b.line("old").LockShard(b.ctx, t, shardOf("t", "k"), 0)
		b.must(err)
		b.moveRefused("a transaction has a shard")
	})
	if got, err := b.subscriptions().Move(b.ctx, "old", "new", "ann"); err != nil || got.Rows != 2 {
		b.Errorf("moved %+v, %v", got, err)
	}
}

// subscriptionsMovedHeld: both lines have the same rows, from a sweep. The row that others
// are behind goes, since the other line has it ready.
func subscriptionsMovedHeld(b *bundle) {
	b.publish(local(rowsOf("t", "k", 0, 2))...)
	b.subscribe("old", "t")
	b.subscribe("new", "t")
	b.sweepWants(2)
	b.publish(local(rowsOf("t", "k", 2, 1))...)
	shard := shardOf("t", "k")
	b.in(func(t *txn.Txn) {
		rows, err := b.line("old").Read(b.ctx, t, shard, 0, 10)
		b.must(err)
		var holds []outbox.Hold
		for n, r := range rows {
			holds = append(holds, outbox.Hold{Row: r, Reason: outbox.Behind})
			if n == 0 {
				holds[0].Reason, holds[0].Delay = outbox.Backoff, time.Hour
			}
		}
		b.must(b.line("old").Hold(b.ctx, t, holds))
		rows, err = b.line("new").Read(b.ctx, t, shard, 0, 10)
		b.must(err)
		b.must(b.line("new").Delete(b.ctx, t, shard, []int64{rows[2].RowID})) // it has been handled
	})
	if _, err := b.subscriptions().Move(b.ctx, "old", "new", "ann"); err != nil {
		b.Error(err)
	}
	b.wantOn(b.line("new"), "0 1", 1)
	b.in(func(t *txn.Txn) {
		held, err := b.line("new").ReadHeld(b.ctx, t, shard, 10)
		if b.must(err); len(held) != 1 || held[0].Event.ID != "event-2" {
			b.Errorf("due: %+v", held)
		}
	})
}

func subscriptionsRemoved(b *bundle) {
	b.subscribe("a", "t", "u", "v")
	rows := append(rowsOf("t", "k", 0, 2), rowsOf("u", "k", 2, 1)...)
	rows[1].Event.Delay = time.Hour
	b.publish(rows...)
	remove := func(rows bool, want outbox.Changed, refused error, topics ...string) {
		b.Helper()
		if got, err := b.subscriptions().Remove(b.ctx, "a", topics, rows, "ann"); !errors.Is(err, refused) || got != want {
			b.Errorf("removed %+v, %v, want %+v, %v", got, err, want, refused)
		}
	}
	remove(false, outbox.Changed{Subscriptions: 1, Rows: 2}, outbox.ErrRowsWait, "t")
	remove(false, outbox.Changed{Subscriptions: 3, Rows: 3}, outbox.ErrRowsWait)
	b.wantOn(b.line("a"), "0 2", 1)
	remove(false, outbox.Changed{Subscriptions: 1}, nil, "v")
	remove(true, outbox.Changed{Subscriptions: 1, Rows: 2}, nil, "t")
	b.wantOn(b.line("a"), "2", 0)
	remove(true, outbox.Changed{Subscriptions: 1, Rows: 1}, nil)
	b.wantOn(b.line("a"), "", 0)
	b.wantOn(b.Store.Outbox(), "0 2", 1)
	b.publish(headraceLocal("t"))
	b.wantOn(b.line(""), "9", 0)
	b.wantAudit(audit.Consumer, "a", "unsubscribe ann: 1 subscriptions, with 1 events, of all topics",
		"unsubscribe ann: 1 subscriptions, with 2 events, of t", "unsubscribe ann: 1 subscriptions, with 0 events, of v")
}

// subscriptionsRemovedRunning: the process would subscribe again, and the events in between
// would be lost for it. Those of topics that it has no handler for are removed.
//
//evidence:local
func subscriptionsRemovedRunning(b *bundle) {
	b.subscribe("a", "t", "u")
	instances := b.Store.Operations().Instances
	b.must(instances.Start(b.ctx, instance.Instance{ID: "i", Consumer: "a"}))
	b.must(instances.Start(b.ctx, instance.Instance{ID: "j", Consumer: "b"}))
	b.shift(outbox.Unseen - 30*time.Second)
	b.must(instances.Beat(b.ctx, "i", instance.Work{}))
	b.must(instances.Beat(b.ctx, "j", instance.Work{}))
	b.subscribe("a", "t")
	b.publish(rowsOf("t", "k", 0, 2)...)
	refused := func(rows bool, topics ...string) {
		b.Helper()
		if got, err := b.subscriptions().Remove(b.ctx, "a", topics, rows, "ann"); !errors.Is(err, outbox.ErrRuns) || got != (outbox.Changed{}) {
			b.Errorf("removed %v: %+v, %v", topics, got, err)
		}
	}
	refused(false)
	refused(false, "t")
	refused(true, "t")
	refused(false, "u")
	b.shift(outbox.Unseen)
	b.must(instances.Beat(b.ctx, "i", instance.Work{}))
	b.subscribe("a", "t")
	refused(true)
	b.wantOn(b.line("a"), "0 1", 0)
	removed := func(want outbox.Changed, topics ...string) {
		b.Helper()
		if got, err := b.subscriptions().Remove(b.ctx, "a", topics, true, "ann"); err != nil || got != want {
			b.Errorf("removed %v: %+v, %v, want %+v", topics, got, err, want)
		}
	}
	removed(outbox.Changed{Subscriptions: 1}, "u")
	removed(outbox.Changed{}, "none")
	b.must(instances.End(b.ctx, "i"))
	removed(outbox.Changed{Subscriptions: 1, Rows: 2})
}

// wantAudit wants what was done to a subject, newest first.
func (b *bundle) wantAudit(kind, subject string, want ...string) {
	b.Helper()
	var got []string
	for _, r := range b.audit(audit.Filter{Kind: kind, Subject: subject}, 0, 10) {
		got = append(got, r.Action+" "+r.By+": "+r.Detail)
	}
	if !slices.Equal(got, want) {
		b.Errorf("the audit of %s %s has %q, want %q", kind, subject, got, want)
	}
}

func headraceLocal(topic string) outbox.Row {
	return outbox.RowOf(headrace.Event{ID: "event-9", Topic: topic, Payload: []byte("{}"), Local: true})
}

func subscriptionsInvalid(b *bundle) {
	if err := b.subscriptions().Subscribe(b.ctx, map[string][]string{"a/b": {"t"}}); err == nil {
		b.Error("a slash was accepted")
	}
	if err := b.subscriptions().Subscribe(b.ctx, map[string][]string{"a": {"t\x00"}}); err == nil {
		b.Error("a NUL was accepted")
	}
	if _, err := b.subscriptions().Move(b.ctx, "a", "", "ann"); err == nil {
		b.Error("an empty name was accepted")
	}
}
