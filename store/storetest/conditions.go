package storetest

import (
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
)

var conditionTests = []test{
	{name: "Lease", run: testConditionLease},
	{name: "Put", run: testConditionPut},
	{name: "Oldest", run: testConditionOldest},
}

// One owner has a lease, until it gives it back or its time is over; work that was done a moment
// ago is not given to any.
func testConditionLease(b *bundle) {
	s := b.Store.Operations().Conditions
	lease := func(owner string, every time.Duration, want bool) {
		b.Helper()
		now, ok, err := s.Lease(b.ctx, "judge:c", owner, time.Minute, every)
		if b.must(err); ok != want || ok && time.Since(now).Abs() > time.Hour {
			b.Errorf("%s: %v at %v", owner, ok, now)
		}
	}
	lease("a", 0, true)
	lease("b", 0, false)
	lease("a", 0, true)
	b.must(s.Release(b.ctx, "judge:c", "b", true))
	lease("b", 0, false)
	b.must(s.Release(b.ctx, "judge:c", "a", true))
	lease("b", time.Hour, false)
	lease("b", 0, true)
	for owner, want := range map[string]bool{"a": false, "b": true} {
		ok, err := s.Put(b.ctx, "judge:c", owner, condition.Change{Conditions: []condition.Condition{failingCondition(owner)}})
		if b.must(err); ok != want {
			b.Errorf("%s writes: %v", owner, ok)
		}
	}
	list, err := s.List(b.ctx, "", true)
	if b.must(err); len(list) != 1 || list[0].Key != "b" {
		b.Errorf("%+v", list)
	}
}

// failingCondition has every field.
func failingCondition(key string) condition.Condition {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	return condition.Condition{
		Alert: alerts.Alert{
			Key: key, Kind: alerts.GroupFailing, Phase: alerts.Firing, Severity: alerts.Error, Consumer: consumer, Handler: handler, ErrorFingerprint: "f00",
			Environment: "production", Title: "it fails", Text: "it fails.", Error: "#", Command: "headrace status", Count: 7, Since: at,
			Links: []alerts.Link{{Name: "group", URL: "https://x"}},
		},
		Namespace: consumer, Instance: "i", State: condition.Firing, Quiet: at.Add(time.Second), Known: true, Base: 3, BaseAt: at,
	}
}

// What is written is read, whole; what is forgotten is gone with what was sent.
func testConditionPut(b *bundle) {
	s := b.Store.Operations().Conditions
	origin, err := s.Origin(b.ctx)
	if b.must(err); origin.ID == "" || origin.Database == "" {
		b.Errorf("%+v", origin)
	}
	c := failingCondition("k")
	send := condition.Send{
		Key: "k", Sink: "slack", Phase: alerts.Firing, Severity: alerts.Warning, Count: 1, Sent: c.Since, Failures: 2, Failing: c.Since, Down: c.Since.Add(-time.Hour), Due: c.Since, Error: "busy", Lost: 1,
	}
	put := func(change condition.Change) {
		b.Helper()
		if ok, err := s.Put(b.ctx, "", "me", change); err != nil || !ok {
			b.Fatal(ok, err)
		}
	}
	put(condition.Change{Conditions: []condition.Condition{failingCondition("gone"), failingCondition("k")}, Sends: []condition.Send{{Key: "k", Sink: "slack"}}})
	put(condition.Change{Conditions: []condition.Condition{c}, Sends: []condition.Send{send}, Gone: []string{"gone"}})
	list, err := s.List(b.ctx, consumer, false)
	b.must(err)
	if d := cmp.Diff([]condition.Condition{c}, list); d != "" {
		b.Error(d)
	}
	sends, err := s.Sends(b.ctx, consumer, "slack", false)
	b.must(err)
	if d := cmp.Diff([]condition.Send{send}, sends); d != "" {
		b.Error(d)
	}
	if others, err := s.List(b.ctx, "", false); err != nil || len(others) != 0 {
		b.Errorf("%+v, %v", others, err)
	}
	c.State, c.Ended = condition.Resolved, c.Since
	put(condition.Change{Conditions: []condition.Condition{c}})
	b.must(s.Forget(b.ctx, time.Hour))
	sends, err = s.Sends(b.ctx, "", "", true)
	b.must(err)
	if list, err = s.List(b.ctx, "", true); err != nil || len(list)+len(sends) != 0 {
		b.Errorf("%+v, %+v, %v", list, sends, err)
	}
}

// The oldest open letter, and the oldest one of a group that is not muted.
func testConditionOldest(b *bundle) {
	oldest, unmuted, err := b.Store.Operations().Conditions.Oldest(b.ctx, consumer)
	if b.must(err); !oldest.IsZero() || !unmuted.IsZero() {
		b.Errorf("%v, %v", oldest, unmuted)
	}
}
