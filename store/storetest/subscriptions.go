package storetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

var subscriptionTests = []test{
	{name: "they are recorded, seen again and listed", run: subscriptionsListed},
	{name: "an event without a subscription is written once", run: subscriptionsNone},
	{name: "an event is copied for each subscription, in order", run: subscriptionsCopies},
	{name: "a delayed event is copied for each subscription", run: subscriptionsDelayed},
	{name: "a local event goes to no sink", run: subscriptionsLocal},
	{name: "a rollback takes the copies back", run: subscriptionsRollback},
	{name: "an unclaimed event is swept to all that subscribe to its topic", run: subscriptionsSwept},
	{name: "a sweep is bounded", run: subscriptionsSweptInParts},
	{name: "a publisher that commits after the registration is swept", run: subscriptionsLate, needs: concurrentWriters},
	{name: "two sweeps at once move each event once", run: subscriptionsSweptTwice, needs: concurrentWriters},
	{name: "a line is worked off beside the outbox", run: subscriptionsLine},
	{name: "a renamed consumer keeps its line", run: subscriptionsMoved},
	{name: "events without a publisher become local", run: subscriptionsLocalized},
	{name: "only the topics that were named become local", run: subscriptionsLocalizedTopic},
	{name: "events that are published do not become local", run: subscriptionsLocalizedRefused},
	{name: "what waits is counted by topic", run: subscriptionsTopics},
	{name: "a consumer that runs is not renamed", run: subscriptionsMovedRunning},
	{name: "a line that is worked on is not moved", run: subscriptionsMovedBusy, needs: concurrentWriters},
	{name: "a move leaves no row behind a row that is gone", run: subscriptionsMovedHeld},
	{name: "events that wait are not removed unless asked", run: subscriptionsRemoved},
	{name: "a subscription that a process has a handler for is not removed", run: subscriptionsRemovedRunning},
	{name: "invalid names are refused", run: subscriptionsInvalid},
}

func (b *bundle) subscriptions() outbox.Subscriptions { return b.Store.Operations().Subscriptions }

func (b *bundle) subscribe(consumer string, topics ...string) {
	b.Helper()
	b.must(b.subscriptions().Subscribe(b.ctx, map[string][]string{consumer: topics}))
}

// line returns the consumer's line; that of "" is outbox.Unclaimed.
func (b *bundle) line(consumer string) store.Outbox {
	return b.Store.Outbox().Line(outbox.LineOf(consumer))
}

// local returns the rows as rows of local events.
func local(rows []outbox.Row) []outbox.Row {
	for i := range rows {
		rows[i].Event.Local = true
	}
	return rows
}

// on returns the ids of the ready events of an outbox, in order, and how many are held.
func (b *bundle) on(o store.Outbox) (ids string, held int64) {
	b.Helper()
	var rows []outbox.Row
	b.in(func(t *txn.Txn) {
		for shard := range outbox.Shards {
			list, err := o.Read(b.ctx, t, shard, 0, 1000)
			b.must(err)
			rows = append(rows, list...)
		}
	})
	slices.SortFunc(rows, func(a, b outbox.Row) int { return int(a.RowID - b.RowID) })
	var list []string
	for _, r := range rows {
		list = append(list, strings.TrimPrefix(r.Event.ID, "event-"))
	}
	s, err := o.Status(b.ctx)
	b.must(err)
	if s.Ready != int64(len(rows)) {
		b.Errorf("outbox %s: the status says %d ready, and %d were read", o.Name(), s.Ready, len(rows))
	}
	return strings.Join(list, " "), s.Delayed + s.Behind + s.Parked
}

func (b *bundle) wantOn(o store.Outbox, want string, wantHeld int64) {
	b.Helper()
	if ids, held := b.on(o); ids != want || held != wantHeld {
		b.Errorf("outbox %s: ready %q and %d held, want %q and %d", o.Name(), ids, held, want, wantHeld)
	}
}

func subscriptionsListed(b *bundle) {
	b.subscribe("b", "t2", "t1", "t2")
	b.subscribe("a", "t1")
	b.subscribe("c")
	b.shift(time.Hour)
	b.subscribe("b", "t2")
	list, err := b.subscriptions().List(b.ctx, "")
	b.must(err)
	var got []string
	for _, s := range list {
		if s.Created.IsZero() || time.Since(s.Created).Abs() > time.Hour {
			b.Errorf("%+v", s)
		}
		got = append(got, fmt.Sprint(s.Consumer, " ", s.Topic, " ", s.Age.Round(time.Minute)))
	}
	if want := []string{"a t1 1h0m0s", "b t1 1h0m0s", "b t2 0s"}; !slices.Equal(got, want) {
		b.Errorf("%v, want %v", got, want)
	}
	if list, err = b.subscriptions().List(b.ctx, "a"); err != nil || len(list) != 1 {
		b.Errorf("of a: %v, %v", list, err)
	}
}

func subscriptionsNone(b *bundle) {
	b.subscribe("a", "other")
	b.publish(rowsOf("t", "k", 0, 3)...)
	b.wantOn(b.Store.Outbox(), "0 1 2", 0)
	b.wantOn(b.line("a"), "", 0)
	b.wantOn(b.line(""), "", 0)
}

//evidence:local
func subscriptionsCopies(b *bundle) {
	b.subscribe("a", "t", "u")
	b.subscribe("b", "t")
	b.publish(slices.Concat(rowsOf("t", "k", 0, 3), rowsOf("u", "k", 3, 1), rowsOf("v", "k", 4, 1))...)
	b.commit(b.begin(), rowsOf("t", "k", 5, 2)...)
	b.wantOn(b.Store.Outbox(), "0 1 2 3 4 5 6", 0)
	b.wantOn(b.line("a"), "0 1 2 3 5 6", 0)
	b.wantOn(b.line("b"), "0 1 2 5 6", 0)
	var first outbox.Row
	b.in(func(t *txn.Txn) {
		rows, err := b.line("b").Read(b.ctx, t, shardOf("t", "k"), 0, 1)
		b.must(err)
		first = rows[0]
	})
	if e := event("t", "k", 0); string(first.Event.Payload) != string(e.Payload) || first.Event.Topic != "t" || first.Event.OrderKey != "k" ||
		len(first.Event.Metadata) != len(e.Metadata) || first.Event.Trace != e.Trace {
		b.Errorf("the copy is %+v, want %+v", first.Event, e)
	}
}

//evidence:local
func subscriptionsDelayed(b *bundle) {
	b.subscribe("a", "t")
	b.subscribe("b", "t")
	rows := rowsOf("t", "k", 0, 4)
	for n := range rows {
		if rows[n].Event.Local = n >= 2; n%2 == 0 {
			rows[n].Event.Delay = time.Hour
		}
	}
	lost := local(rowsOf("none", "k", 4, 2))
	lost[0].Event.Delay = time.Hour
	b.publish(append(rows, lost...)...)
	b.wantOn(b.Store.Outbox(), "1", 1)
	b.wantOn(b.line("a"), "1 3", 2)
	b.wantOn(b.line("b"), "1 3", 2)
	b.wantOn(b.line(""), "5", 1)
	b.subscribe("a", "none")
	b.sweepWants(2)
	b.wantOn(b.line("a"), "1 3 5", 3)
	b.wantOn(b.line(""), "", 0)
	b.shift(2 * time.Hour)
	b.in(func(t *txn.Txn) {
		held, err := b.line("a").ReadHeld(b.ctx, t, rows[0].Shard, 10)
		b.must(err)
		if len(held) < 2 || held[0].Event.ID != "event-0" || held[1].Event.ID != "event-2" || held[0].Reason != outbox.Delayed {
			b.Errorf("due on the line: %+v", held)
		}
	})
}

func (b *bundle) sweepWants(want int) {
	b.Helper()
	if n, err := b.subscriptions().Sweep(b.ctx); err != nil || n != want {
		b.Errorf("a sweep moved %d, %v, want %d", n, err, want)
	}
}

func subscriptionsLocal(b *bundle) {
	b.subscribe("a", "t")
	mixed := slices.Concat(local(rowsOf("t", "k", 0, 1)), rowsOf("t", "k", 1, 1), local(rowsOf("u", "k", 2, 1)), rowsOf("u", "k", 3, 1))
	b.publish(mixed...)
	b.publish(local(rowsOf("t", "k", 4, 2))...)
	b.wantOn(b.Store.Outbox(), "1 3", 0)
	b.wantOn(b.line("a"), "0 1 4 5", 0)
	b.wantOn(b.line(""), "2", 0)
}

//evidence:local
func subscriptionsRollback(b *bundle) {
	b.subscribe("a", "t")
	t := b.begin()
	rows := append(rowsOf("t", "k", 0, 1), local(rowsOf("u", "k", 1, 1))...)
	b.must(b.Store.Outbox().Insert(b.ctx, t, rows))
	t.Rollback()
	tx, err := b.DB.BeginTx(b.ctx, nil)
	b.must(err)
	b.must(b.Store.Outbox().Insert(b.ctx, tx, rows))
	b.must(tx.Rollback())
	for _, o := range []store.Outbox{b.Store.Outbox(), b.line("a"), b.line("")} {
		b.wantOn(o, "", 0)
	}
}

//evidence:local
func subscriptionsSwept(b *bundle) {
	b.publish(slices.Concat(local(rowsOf("t", "k", 0, 2)), local(rowsOf("u", "k", 2, 1)))...)
	b.sweepWants(0)
	b.wantOn(b.line(""), "0 1 2", 0)
	b.subscribe("a", "t")
	b.subscribe("b", "t")
	b.publish(local(rowsOf("t", "k", 3, 1))...)
	b.sweepWants(2)
	b.sweepWants(0)
	b.wantOn(b.line("a"), "0 1 3", 0)
	b.wantOn(b.line("b"), "0 1 3", 0)
	b.wantOn(b.line(""), "2", 0)
}

func subscriptionsSweptInParts(b *bundle) {
	const many = 1200
	b.publish(local(rowsOf("t", "", 0, many))...)
	b.subscribe("a", "t")
	all := 0
	for n := 1; n > 0; {
		var err error
		if n, err = b.subscriptions().Sweep(b.ctx); err != nil || n >= many {
			b.Fatalf("a sweep moved %d, %v", n, err)
		}
		all += n
	}
	s, err := b.line("a").Status(b.ctx)
	if b.must(err); all != many || s.Ready != many {
		b.Errorf("%d moved, %d there", all, s.Ready)
	}
}

// subscriptionsLate: what a publisher writes that does not see the subscription yet is
// found after its commit, and keeps its place.
//
//evidence:local
func subscriptionsLate(b *bundle) {
	late := b.begin()
	b.must(b.Store.Outbox().Insert(b.ctx, late, local(rowsOf("t", "k", 0, 1))))
	b.subscribe("a", "t")
	b.sweepWants(0)
	b.publish(local(rowsOf("t", "k", 1, 1))...)
	b.commit(late)
	b.wantOn(b.line("a"), "1", 0)
	b.sweepWants(1)
	b.wantOn(b.line("a"), "0 1", 0)
}

func subscriptionsSweptTwice(b *bundle) {
	b.publish(local(rowsOf("t", "", 0, 300))...)
	b.subscribe("a", "t")
	moved, errs := make(chan int), make(chan error)
	for range 3 {
		go func() {
			n, err := b.subscriptions().Sweep(b.ctx)
			moved <- n
			errs <- err
		}()
	}
	all := 0
	for range 3 {
		all += <-moved
		b.must(<-errs)
	}
	s, err := b.line("a").Status(b.ctx)
	if b.must(err); all != 300 || s.Ready != 300 {
		b.Errorf("%d moved, %d there", all, s.Ready)
	}
}

func subscriptionsLine(b *bundle) {
	b.subscribe("a", "t")
	b.publish(rowsOf("t", "k", 0, 2)...)
	shard, marks := shardOf("t", "k"), make([]int64, outbox.Shards)
	for _, o := range []store.Outbox{b.line("a"), b.Store.Outbox()} {
		p, err := o.Poll(b.ctx, marks)
		b.must(err)
		b.wantShards("of "+o.Name(), p, shard)
		b.in(func(t *txn.Txn) {
			ok, err := o.LockShard(b.ctx, t, shard, 0)
			if b.must(err); !ok {
				b.Errorf("outbox %s: the shard is locked", o.Name())
			}
			rows, err := o.Read(b.ctx, t, shard, 0, 1)
			b.must(err)
			b.must(o.Hold(b.ctx, t, []outbox.Hold{{Row: rows[0], Reason: outbox.Backoff, Delay: time.Minute, Error: "why"}}))
		})
		b.wantOn(o, "1", 1)
	}
	b.in(func(t *txn.Txn) {
		blocks, err := b.line("a").Blocked(b.ctx, t, shard)
		if b.must(err); len(blocks) != 1 {
			b.Errorf("blocks on the line: %v", blocks)
		}
		b.must(b.line("a").Delete(b.ctx, t, shard, []int64{blocks[0].First}))
	})
	b.wantOn(b.line("a"), "1", 0)
	b.wantOn(b.Store.Outbox(), "1", 1)
	all, other := b.Store.Outbox().Signal(), b.line("a").Signal()
	all.Wake()
	<-all.C()
	<-other.C()
}
