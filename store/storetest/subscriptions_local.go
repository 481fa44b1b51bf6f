package storetest

import (
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// localize wants Localize of the store's outbox to change so many rows.
func (b *bundle) localize(unclaimed, gone int, topics ...string) {
	b.Helper()
	u, g, err := b.subscriptions().Localize(b.ctx, b.Store.Outbox().Name(), topics, "ann")
	if b.must(err); u != unclaimed || g != gone {
		b.Errorf("%d are unclaimed and %d gone, want %d and %d", u, g, unclaimed, gone)
	}
}

// subscriptionsLocalized: events get to a consumer that subscribes later, in their order,
// also delayed ones and those that a sink had refused. None gets to one that had it, which
// would apply it again after its inbox was pruned.
//
//evidence:local
func subscriptionsLocalized(b *bundle) {
	rows := rowsOf("t", "k", 0, 5)
	rows[4].Event.Delay = time.Hour
	b.publish(rows...)
	box := b.Store.Outbox()
	refuse := func(topic string) {
		b.in(func(t *txn.Txn) {
			rows, err := box.Read(b.ctx, t, shardOf(topic, "k"), 0, 2)
			b.must(err)
			b.must(box.Hold(b.ctx, t, []outbox.Hold{{Row: rows[0], Reason: outbox.Parked, Attempts: 9, Error: "why"}, {Row: rows[1], Reason: outbox.Behind}}))
		})
	}
	refuse("t")
	b.subscribe("soon", "t")
	b.publish(rowsOf("t", "k", 5, 1)...) // also for soon, which has just begun
	b.subscribe("early", "u")
	delayed := rowsOf("u", "k", 9, 1)
	delayed[0].Event.Delay = time.Hour
	b.publish(rowsOf("u", "k", 6, 3)...) // also for early
	b.publish(delayed...)
	refuse("u")
	b.wantOn(b.line("early"), "6 7 8", 1)
	b.localize(5, 5)
	b.wantOn(box, "", 0)
	b.wantOn(b.line(""), "0 1 2 3", 1)
	b.subscribe("late", "t", "u")
	b.sweepWants(5)
	b.wantOn(b.line("late"), "0 1 2 3", 1)
	b.wantOn(b.line("early"), "6 7 8", 1)
	b.wantOn(b.line("soon"), "0 1 2 3 5", 1)
	b.localize(0, 0)
	b.wantAudit(audit.Outbox, box.Name(), "local ann: 5 events, and 5 removed that subscribers have got, of all topics")
}

func subscriptionsLocalizedTopic(b *bundle) {
	b.publish(append(rowsOf("t", "k", 0, 2), rowsOf("u", "k", 2, 2)...)...)
	b.localize(2, 0, "u")
	b.wantOn(b.Store.Outbox(), "0 1", 0)
	b.wantOn(b.line(""), "2 3", 0)
}

func subscriptionsLocalizedRefused(b *bundle) {
	b.publish(rowsOf("t", "k", 0, 2)...)
	box := b.Store.Outbox().Name()
	relays := b.Store.Operations().Relays
	_, err := relays.Serve(b.ctx, outbox.Relay{ID: "r", Outbox: box, Sink: "s", Consumers: []string{"billing"}}, instance.Missed)
	b.must(err)
	if _, _, err := b.subscriptions().Localize(b.ctx, box, nil, "ann"); !errors.Is(err, outbox.ErrPublished) {
		b.Errorf("a relay runs: %v", err)
	}
	b.wantOn(b.Store.Outbox(), "0 1", 0)
	b.shift(2 * instance.Missed)
	b.localize(2, 0)
}

func subscriptionsTopics(b *bundle) {
	box := b.Store.Outbox()
	rows := append(rowsOf("t", "k", 0, 3), rowsOf("u", "", 3, 2)...)
	rows[4].Event.Delay = 3 * time.Minute
	b.publish(rows...)
	b.in(func(t *txn.Txn) {
		rows, err := box.Read(b.ctx, t, shardOf("t", "k"), 0, 1)
		b.must(err)
		b.must(box.Hold(b.ctx, t, []outbox.Hold{{Row: rows[0], Reason: outbox.Backoff, Delay: time.Hour, Error: "why"}}))
	})
	b.publish(func() outbox.Row { r := rowsOf("delayed", "", 5, 1)[0]; r.Event.Delay = time.Hour; return r }())
	topics := func() (says string) {
		list, err := box.Topics(b.ctx, box.Name())
		b.must(err)
		for _, s := range list {
			says += fmt.Sprint(s.Topic, " ", s.Events, " ", s.Oldest.Round(time.Minute), " ", s.Published, "; ")
		}
		return says
	}
	b.shift(2 * time.Minute)
	if got, want := topics(), "delayed 1 0s false; t 3 2m0s false; u 2 2m0s false; "; got != want {
		b.Errorf("topics: %q, want %q", got, want)
	}
	_, err := b.Store.Operations().Relays.Serve(b.ctx, outbox.Relay{ID: "r", Outbox: box.Name(), Sink: "s", Consumers: []string{"billing"}}, instance.Missed)
	b.must(err)
	if got, want := topics(), "delayed 1 0s true; t 3 2m0s true; u 2 2m0s true; "; got != want {
		b.Errorf("with a relay: %q, want %q", got, want)
	}
	if list, err := box.Topics(b.ctx, outbox.LineOf("none")); err != nil || len(list) != 0 {
		b.Errorf("of an empty line: %v, %v", list, err)
	}
}
