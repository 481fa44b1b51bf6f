package storetest

import (
	"errors"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store/txn"
)

var instanceTests = []test{
	{name: "an instance starts, beats and ends", run: instanceLife},
	{name: "one that was forgotten is unknown, and starts again", run: instanceForgotten},
	{name: "a death counts with what was written down, and no other", run: instanceDeaths},
	{name: "a recorded attempt clears a death", run: instanceAttemptClears},
	{name: "a redrive clears a death", run: instanceRedriveClears},
	{name: "a message that came to its end is settled", run: instanceSettled},
	{name: "the dead are outlived, until they beat", run: instanceOutlived},
}

// never is longer than any test; always is over at once.
const (
	never  = time.Hour
	always = -time.Hour
)

var killer = inbox.ID{Scope: "billing/orders.paid", Key: "killer"}

func (b *bundle) startInstance(id, consumer string) {
	b.Helper()
	b.must(b.Store.Operations().Instances.Start(b.ctx, instance.Instance{ID: id, Consumer: consumer, Host: "mill-1", Build: "v1"}))
}

func (b *bundle) instances(consumer string) map[string]instance.Instance {
	b.Helper()
	list, err := b.Store.Operations().Instances.List(b.ctx, consumer)
	b.must(err)
	byID := make(map[string]instance.Instance)
	for _, i := range list {
		byID[i.ID] = i
	}
	return byID
}

func (b *bundle) wantDeaths(what string, missed time.Duration, deaths, unsure int) {
	b.Helper()
	d, u, err := b.Store.Operations().Instances.Deaths(b.ctx, "me", "billing", killer, missed)
	b.must(err)
	if d != deaths || u != unsure {
		b.Errorf("%s: %d deaths and %d unsure, want %d and %d", what, d, u, deaths, unsure)
	}
}

func instanceLife(b *bundle) {
	store := b.Store.Operations().Instances
	b.startInstance("a", "billing")
	b.startInstance("b", "shipping")
	a := b.instances("billing")["a"]
	if len(b.instances("billing")) != 1 || len(b.instances("")) != 2 {
		b.Errorf("%d of billing, %d in all", len(b.instances("billing")), len(b.instances("")))
	}
	if a.Host != "mill-1" || a.Build != "v1" || a.Started.IsZero() || !a.Ended.IsZero() || a.Outlived || a.Running != (inbox.ID{}) || a.Age < 0 || a.Age > patience {
		b.Errorf("%+v", a)
	}
	b.await("a beat that advances", func() bool {
		b.must(store.Beat(b.ctx, "a"))
		return b.instances("")["a"].Beat.After(a.Beat)
	})
	b.must(store.Run(b.ctx, "a", killer))
	if got := b.instances("")["a"].Running; got != killer {
		b.Errorf("runs %+v", got)
	}
	b.must(store.Run(b.ctx, "a", inbox.ID{}))
	if got := b.instances("")["a"].Running; got != (inbox.ID{}) {
		b.Errorf("runs %+v", got)
	}
	b.must(store.Run(b.ctx, "a", killer))
	b.must(store.End(b.ctx, "a"))
	if got := b.instances("")["a"]; got.Ended.IsZero() || got.Running != (inbox.ID{}) || got.Dead(always) {
		b.Errorf("after its end: %+v", got)
	}
	b.wantDeaths("one that ended", always, 0, 0)
}

func instanceForgotten(b *bundle) {
	store := b.Store.Operations().Instances
	for _, err := range []error{store.Beat(b.ctx, "a"), store.Run(b.ctx, "a", killer)} {
		if !errors.Is(err, instance.ErrUnknown) {
			b.Errorf("of one without a row: %v", err)
		}
	}
	b.startInstance("a", "billing")
	b.must(store.Forget(b.ctx, never))
	b.must(store.Beat(b.ctx, "a"))
	b.must(store.Forget(b.ctx, always))
	if err := store.Beat(b.ctx, "a"); !errors.Is(err, instance.ErrUnknown) {
		b.Errorf("of one that was forgotten: %v", err)
	}
	b.startInstance("a", "billing")
	b.startInstance("a", "billing") // whose first answer was lost
	b.must(store.Beat(b.ctx, "a"))
}

func instanceDeaths(b *bundle) {
	store := b.Store.Operations().Instances
	b.startInstance("me", "billing")
	b.must(store.Run(b.ctx, "me", killer))
	b.wantDeaths("only oneself", always, 0, 0)
	b.startInstance("idle", "billing")
	b.startInstance("elsewhere", "shipping")
	b.must(store.Run(b.ctx, "elsewhere", inbox.ID{Scope: "shipping/orders.paid", Key: killer.Key}))
	b.startInstance("innocent", "billing")
	b.must(store.Run(b.ctx, "innocent", inbox.ID{Scope: killer.Scope, Key: "other"}))
	b.wantDeaths("others", always, 0, 0)
	for n, id := range []string{"a", "b"} {
		b.startInstance(id, "billing")
		b.must(store.Run(b.ctx, id, killer))
		b.wantDeaths("while they may live", never, 0, n+1)
		b.wantDeaths("when they have missed their beats", always, n+1, 0)
	}
	b.must(store.Run(b.ctx, "a", inbox.ID{}))
	b.wantDeaths("one whose handler returned", always, 1, 0)
}

func instanceAttemptClears(b *bundle) {
	store := b.Store.Operations().Instances
	b.startInstance("a", "billing")
	b.must(store.Run(b.ctx, "a", killer))
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().AddAttempt(b.ctx, t, inbox.Attempt{ID: killer, Class: "transient"})
		b.must(err)
	})
	b.wantDeaths("before the attempt", always, 0, 0)
	b.await("a death after the attempt", func() bool { // the clock may be coarse
		b.must(store.Run(b.ctx, "a", killer))
		deaths, _, err := store.Deaths(b.ctx, "me", "billing", killer, always)
		b.must(err)
		return deaths == 1
	})
	b.in(func(t *txn.Txn) { // an attempt of a message that has no inbox row is not allowed to stay
		_, err := b.Store.Inbox().Record(b.ctx, t, inbox.Entry{ID: killer, State: inbox.Done, Fingerprint: "f"})
		b.must(err)
	})
}

func instanceRedriveClears(b *bundle) {
	store := b.Store.Operations().Instances
	b.startInstance("a", "billing")
	b.must(store.Run(b.ctx, "a", killer))
	b.wantDeaths("before", always, 1, 0)
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().Record(b.ctx, t, inbox.Entry{ID: killer, State: inbox.Done, Fingerprint: "f"})
		b.must(err)
	})
	b.wantDeaths("after its inbox row moved", always, 0, 0)
}

func instanceSettled(b *bundle) {
	store := b.Store.Operations().Instances
	b.startInstance("a", "billing")
	b.must(store.Run(b.ctx, "a", killer))
	if b.instances("")["a"].Settled {
		b.Error("settled without an inbox row")
	}
	b.in(func(t *txn.Txn) {
		_, err := b.Store.Inbox().Record(b.ctx, t, inbox.Entry{ID: killer, State: inbox.Done, Fingerprint: "f"})
		b.must(err)
	})
	if !b.instances("")["a"].Settled {
		b.Error("not settled although it is done")
	}
}

func instanceOutlived(b *bundle) {
	store := b.Store.Operations().Instances
	b.startInstance("a", "billing")
	b.startInstance("other", "shipping")
	b.startInstance("me", "billing")
	b.must(store.Outlive(b.ctx, "me", never))
	if b.instances("")["a"].Outlived {
		b.Error("outlived although it beats")
	}
	b.must(store.Outlive(b.ctx, "me", always))
	got := b.instances("")
	if !got["a"].Outlived || got["me"].Outlived || got["other"].Outlived {
		b.Errorf("%+v", got)
	}
	b.must(store.Beat(b.ctx, "a"))
	if b.instances("")["a"].Outlived {
		b.Error("outlived although it beats again")
	}
}
