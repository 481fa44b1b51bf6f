package storetest

import (
	"errors"
	"time"

	"github.com/headrace/headrace/instance"
)

var instanceTests = []test{
	{name: "an instance starts, beats and ends", run: instanceLife},
	{name: "an instance is dead when it has missed its beats", run: instanceDead},
	{name: "one that was forgotten is unknown, and starts again", run: instanceForgotten},
	{name: "those that ended or died are listed for an hour", run: instanceListed},
}

// missed is after how long without a beat the suite takes an instance for dead.
const missed = 10 * time.Minute

func (b *bundle) startInstance(id, consumer string) {
	b.Helper()
	b.must(b.Store.Operations().Instances.Start(b.ctx, instance.Instance{ID: id, Consumer: consumer, Host: "mill-1", Build: "v1", Environment: "test"}))
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

func instanceLife(b *bundle) {
	store := b.Store.Operations().Instances
	b.startInstance("a", "billing")
	b.startInstance("b", "shipping")
	a := b.instances("billing")["a"]
	if len(b.instances("billing")) != 1 || len(b.instances("")) != 2 {
		b.Errorf("%d of billing, %d in all", len(b.instances("billing")), len(b.instances("")))
	}
	if a.Host != "mill-1" || a.Build != "v1" || a.Environment != "test" || a.Started.IsZero() || !a.Ended.IsZero() || !a.Counted.IsZero() || a.DeadFor != 0 {
		b.Errorf("%+v", a)
	}
	b.shift(time.Hour)
	about(b, "the age of the beat", b.instances("")["a"].Age, time.Hour+time.Minute)
	did := instance.Work{Rate: 2.5, Median: 3 * time.Millisecond}
	b.must(store.Beat(b.ctx, "a", did))
	if got := b.instances("")["a"]; !got.Beat.After(a.Beat) || got.Age > time.Minute || !got.Started.Equal(a.Started) || got.Work != did || a.Work != (instance.Work{}) {
		b.Errorf("after a beat: %+v", got)
	}
	b.must(store.End(b.ctx, "a"))
	if got := b.instances("")["a"]; got.Ended.IsZero() || got.Dead(-time.Hour) {
		b.Errorf("after its end: %+v", got)
	}
}

func instanceDead(b *bundle) {
	b.startInstance("a", "billing")
	if b.instances("")["a"].Dead(missed) {
		b.Error("dead at once")
	}
	b.shift(2 * missed)
	if a := b.instances("")["a"]; !a.Dead(missed) || !a.Counted.IsZero() {
		b.Errorf("without a beat for long: %+v", a)
	}
	b.countDeath("a", true)
	b.shift(3 * missed)
	a := b.instances("")["a"]
	if a.Counted.IsZero() || !a.Dead(missed) {
		b.Errorf("after its death was counted: %+v", a)
	}
	about(b, "for how long it is dead", a.DeadFor, missed+time.Minute)
	b.must(b.Store.Operations().Instances.Beat(b.ctx, "a", instance.Work{}))
	if a := b.instances("")["a"]; !a.Counted.IsZero() || a.Dead(missed) {
		b.Errorf("after a beat: %+v", a)
	}
	b.countDeath("a", false)
}

func instanceForgotten(b *bundle) {
	store := b.Store.Operations().Instances
	if err := store.Beat(b.ctx, "a", instance.Work{}); !errors.Is(err, instance.ErrUnknown) {
		b.Errorf("of one without a row: %v", err)
	}
	b.startInstance("a", "billing")
	b.startInstance("ended", "billing")
	b.must(store.End(b.ctx, "ended"))
	b.shift(59 * time.Minute)
	b.must(store.Forget(b.ctx, time.Hour))
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_instances"); n != 2 {
		b.Errorf("%d instances after 59 minutes, want 2", n)
	}
	b.shift(61 * time.Minute)
	b.must(store.Forget(b.ctx, time.Hour))
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_instances"); n != 0 {
		b.Errorf("%d instances after 61 minutes", n)
	}
	if err := store.Beat(b.ctx, "a", instance.Work{}); !errors.Is(err, instance.ErrUnknown) {
		b.Errorf("of one that was forgotten: %v", err)
	}
	b.startInstance("a", "billing")
	b.startInstance("a", "billing") // whose first answer was lost
	b.must(store.Beat(b.ctx, "a", instance.Work{}))
}

func instanceListed(b *bundle) {
	for _, id := range []string{"runs", "ended", "died"} {
		b.startInstance(id, "billing")
	}
	b.must(b.Store.Operations().Instances.End(b.ctx, "ended"))
	b.shift(2 * missed)
	b.countDeath("died", true)
	b.must(b.Store.Operations().Instances.Beat(b.ctx, "runs", instance.Work{}))
	b.shift(59 * time.Minute)
	if n := len(b.instances("")); n != 3 {
		b.Errorf("%d instances, want 3", n)
	}
	b.shift(2*missed + 61*time.Minute)
	if list := b.instances(""); len(list) != 1 || list["runs"].ID == "" {
		b.Errorf("after more than an hour: %+v", list)
	}
}
