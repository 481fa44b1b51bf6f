package storetest

import (
	"fmt"
	"sync"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/store/txn"
)

var alertTests = []test{
	{name: "an alert comes with the letter's transaction or not at all", run: alertAtomic},
	{name: "rows are counted into groups and removed", run: alertCounts},
	{name: "a group is quiet after it was passed on, and counts meanwhile", run: alertQuiet},
	{name: "a group that was tried in vain keeps its count and waits", run: alertFailed},
	{name: "one reader at a time, until its lease ends", run: alertLease},
	{name: "a reader that lost its lease records nothing", run: alertFence},
	{name: "what is due beyond the limit is summed up, and settled at once", run: alertRest},
	{name: "old rows and groups go, counted", run: alertExpires},
	{name: "what has been silent for long is forgotten", run: alertForgets},
	{name: "namespaces are apart", run: alertNamespaces},
	{name: "awkward topics are kept as text, awkward names refused", run: alertAwkward},
	{name: "appends do not wait for each other or the reader", run: alertAppendsApart, needs: concurrentWriters},
}

// dead returns the alert of a dead letter.
func dead(print string, letter int64) alerts.Alert {
	return alerts.Alert{
		Kind: alerts.DeadLetter, Consumer: consumer, Handler: handler, Topic: "orders",
		Class: string(dlq.Permanent), ErrorFingerprint: print, LetterID: letter,
	}
}

func (b *bundle) appendAlerts(list ...alerts.Alert) {
	b.Helper()
	b.in(func(t *txn.Txn) { b.must(b.Store.Operations().Alerts.Append(b.ctx, t, list)) })
}

// taking returns a request of owner that a test can change.
func taking(owner string) alerts.TakeRequest {
	return alerts.TakeRequest{
		Namespace: consumer, Owner: owner, Lease: time.Hour, Limit: 100, Rows: 1000, Expire: 24 * time.Hour, Forget: 24 * time.Hour,
	}
}

func (b *bundle) takeAlerts(r alerts.TakeRequest) (taken alerts.Taken) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		var err error
		taken, err = b.Store.Operations().Alerts.Take(b.ctx, t, r)
		b.must(err)
	})
	return taken
}

// settleAlerts settles a group of taken, or all for "", and reports whether it could.
func (b *bundle) settleAlerts(owner, grp string, taken alerts.Taken, passed bool, wait time.Duration) (ok bool) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		var err error
		ok, err = b.Store.Operations().Alerts.Settle(b.ctx, t, alerts.Settlement{
			Namespace: consumer, Owner: owner, Lease: time.Hour, Grp: grp, Until: taken.Until, Passed: passed, Wait: wait,
		})
		b.must(err)
	})
	return ok
}

func (b *bundle) alertsWait(namespace, owner string) bool {
	b.Helper()
	yes, err := b.Store.Operations().Alerts.Waiting(b.ctx, namespace, owner)
	b.must(err)
	return yes
}

// wantDue compares what the appenders said, and the counts.
func (b *bundle) wantDue(taken alerts.Taken, want ...alerts.Due) {
	b.Helper()
	if !taken.OK {
		b.Fatal("the lease is another's")
	}
	for i := range want {
		want[i].Grp = want[i].Group()
	}
	byGroup := cmpopts.SortSlices(func(x, y alerts.Due) bool { return x.Grp < y.Grp })
	times := cmpopts.IgnoreFields(alerts.Alert{}, "Since", "At")
	if diff := cmp.Diff(want, taken.Due, times, byGroup, cmpopts.EquateEmpty()); diff != "" {
		b.Errorf("due (-want +got):\n%s", diff)
	}
	var count int64
	for _, d := range taken.Due {
		count += d.Count
		if d.Since.IsZero() || d.At.Before(d.Since) || taken.Since.After(d.Since) || taken.At.Before(d.At) {
			b.Errorf("group %s from %s to %s, all from %s to %s", d.Grp, d.Since, d.At, taken.Since, taken.At)
		}
	}
	if taken.Groups != int64(len(want)) || taken.Count != count {
		b.Errorf("%d groups of %d alerts, want %d of %d", taken.Groups, taken.Count, len(want), count)
	}
}

// due is what becomes of a after count of them.
func due(a alerts.Alert, count int64, first bool) alerts.Due {
	a.Count = count
	return alerts.Due{Alert: a, First: first}
}

// DESIGN §3 Alerts: work transactions only append.
//
//evidence:alert
func alertAtomic(b *bundle) {
	write := func(t *txn.Txn) {
		id := b.insert(t, conflictLetter("a"))
		b.must(b.Store.Operations().Alerts.Append(b.ctx, t, []alerts.Alert{dead("print", id)}))
	}
	t := b.begin()
	write(t)
	t.Rollback()
	if b.alertsWait(consumer, "r1") {
		b.Error("an alert of a rolled back transaction waits")
	}
	b.in(write)
	if !b.alertsWait(consumer, "r1") {
		b.Error("no alert waits after the commit")
	}
	b.in(func(t *txn.Txn) { b.must(b.Store.Operations().Alerts.Append(b.ctx, t, nil)) })
}

// conflictLetter is a letter that needs no inbox row.
func conflictLetter(key string) dlq.Letter {
	l := letter(key)
	l.Class = dlq.Conflict
	return l
}

func alertCounts(b *bundle) {
	b.wantDue(b.takeAlerts(taking("r1")))
	b.appendAlerts(dead("x", 1), dead("y", 2), dead("x", 3))
	b.appendAlerts(dead("x", 4))
	r := taking("r1")
	r.Rows = 3
	taken := b.takeAlerts(r)
	b.wantDue(taken, due(dead("x", 3), 2, true), due(dead("y", 2), 1, true))
	if !taken.More {
		b.Error("a row is left and More is false")
	}
	taken = b.takeAlerts(r)
	b.wantDue(taken, due(dead("x", 4), 3, true), due(dead("y", 2), 1, true))
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_alerts"); n != 0 || taken.More {
		b.Errorf("%d rows are left, more %t", n, taken.More)
	}
}

// INVARIANT 19: deduplicated.
func alertQuiet(b *bundle) {
	b.appendAlerts(dead("x", 1))
	taken := b.takeAlerts(taking("r1"))
	b.wantDue(taken, due(dead("x", 1), 1, true))
	if !b.settleAlerts("r1", taken.Due[0].Grp, taken, true, time.Hour) {
		b.Fatal("not settled")
	}
	if b.alertsWait(consumer, "r1") {
		b.Error("a group waits that was passed on")
	}
	b.appendAlerts(dead("x", 2), dead("x", 3))
	taken = b.takeAlerts(taking("r1"))
	b.wantDue(taken)
	if taken.Tried != 1 || b.alertsWait(consumer, "r1") {
		b.Errorf("tried %d, or a quiet group is due", taken.Tried)
	}
	b.appendAlerts(dead("x", 4))
	b.exec(b.DB, "UPDATE {{schema}}.headrace_alert_groups SET due_at = tried_at")
	b.wantDue(b.takeAlerts(taking("r1")), due(dead("x", 4), 3, false))
}

func alertFailed(b *bundle) {
	b.appendAlerts(dead("x", 1))
	for failures := range 2 {
		taken := b.takeAlerts(taking("r1"))
		want := due(dead("x", 1), 1, true)
		want.Failures = failures
		b.wantDue(taken, want)
		b.settleAlerts("r1", taken.Due[0].Grp, taken, false, time.Hour)
		b.wantDue(b.takeAlerts(taking("r1")))
		b.exec(b.DB, "UPDATE {{schema}}.headrace_alert_groups SET due_at = tried_at")
	}
	taken := b.takeAlerts(taking("r1"))
	b.settleAlerts("r1", taken.Due[0].Grp, taken, true, time.Hour)
	b.appendAlerts(dead("x", 2))
	b.wantDue(b.takeAlerts(taking("r1")))
	b.shift(2 * time.Hour)
	b.wantDue(b.takeAlerts(taking("r1")), due(dead("x", 2), 1, false)) // a success clears the failures
}

func alertLease(b *bundle) {
	b.appendAlerts(dead("x", 1))
	b.wantDue(b.takeAlerts(taking("r1")), due(dead("x", 1), 1, true))
	if !b.alertsWait(consumer, "r1") || b.alertsWait(consumer, "r2") {
		b.Error("what another holds waits for the reader, or its own does not")
	}
	b.appendAlerts(dead("x", 2))
	if b.takeAlerts(taking("r2")).OK {
		b.Fatal("two readers hold the lease")
	}
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_alerts"); n != 1 {
		b.Errorf("a reader without the lease left %d rows, want 1", n)
	}
	b.in(func(t *txn.Txn) { b.must(b.Store.Operations().Alerts.Release(b.ctx, t, consumer, "r2")) })
	if b.alertsWait(consumer, "r2") {
		b.Error("a lease was released by another")
	}
	b.in(func(t *txn.Txn) { b.must(b.Store.Operations().Alerts.Release(b.ctx, t, consumer, "r1")) })
	b.wantDue(b.takeAlerts(taking("r2")), due(dead("x", 2), 2, true))
	b.shift(2 * time.Hour)
	if !b.alertsWait(consumer, "r3") {
		b.Error("a lease lasts for ever")
	}
	b.wantDue(b.takeAlerts(taking("r3")), due(dead("x", 2), 2, true)) // sent again rather than never
}

func alertFence(b *bundle) {
	b.appendAlerts(dead("x", 1))
	old := b.takeAlerts(taking("r1"))
	b.shift(2 * time.Hour)
	if !b.takeAlerts(taking("r2")).OK {
		b.Fatal("an ended lease was not taken")
	}
	if b.settleAlerts("r1", old.Due[0].Grp, old, true, time.Hour) {
		b.Error("settled without the lease")
	}
	b.wantDue(b.takeAlerts(taking("r2")), due(dead("x", 1), 1, true))
}

// INVARIANT 19: no alert storm.
func alertRest(b *bundle) {
	var list []alerts.Alert
	for n := range 50 {
		list = append(list, dead(fmt.Sprint(n%25), int64(n+1)))
	}
	b.appendAlerts(list...)
	r := taking("r1")
	r.Limit = 3
	taken := b.takeAlerts(r)
	if len(taken.Due) != 3 || taken.Groups != 25 || taken.Count != 50 || taken.Tried != 0 {
		b.Fatalf("%d due of %d groups, %d alerts, %d tried", len(taken.Due), taken.Groups, taken.Count, taken.Tried)
	}
	b.settleAlerts("r1", taken.Due[0].Grp, taken, false, time.Hour)
	b.appendAlerts(dead("late", 99)) // after the look: not of the rest
	b.settleAlerts("r1", "", taken, true, time.Hour)
	taken = b.takeAlerts(r)
	b.wantDue(taken, due(dead("late", 99), 1, true))
	if taken.Tried != 25 {
		b.Errorf("tried %d", taken.Tried)
	}
	if n := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_alert_groups WHERE waiting > 0"); n != 2 {
		b.Errorf("%d groups wait, want the one that failed and the late one", n)
	}
}

func alertExpires(b *bundle) {
	b.appendAlerts(dead("x", 1), dead("x", 2))
	b.takeAlerts(taking("r1"))
	b.appendAlerts(dead("x", 3), dead("y", 4))
	b.shift(25 * time.Hour)
	taken := b.takeAlerts(taking("r1"))
	b.wantDue(taken)
	if taken.Expired != 4 {
		b.Errorf("%d expired, want 4", taken.Expired)
	}
	b.appendAlerts(dead("x", 5))
	b.wantDue(b.takeAlerts(taking("r1")), due(dead("x", 5), 1, true)) // it was not sent
}

func alertForgets(b *bundle) {
	b.appendAlerts(dead("x", 1))
	taken := b.takeAlerts(taking("r1"))
	b.settleAlerts("r1", "", taken, true, time.Hour)
	for n, hours := range []time.Duration{23, 25} {
		b.shift(hours * time.Hour)
		b.takeAlerts(taking("r1"))
		if got := b.count(b.DB, "SELECT count(*) FROM {{schema}}.headrace_alert_groups"); got != 1-n {
			b.Errorf("%d groups after %d hours, want %d", got, hours, 1-n)
		}
	}
	b.appendAlerts(dead("x", 2))
	b.wantDue(b.takeAlerts(taking("r1")), due(dead("x", 2), 1, true))
}

func alertNamespaces(b *bundle) {
	parked := alerts.Alert{Kind: alerts.RowParked, Topic: "invoices"}
	b.appendAlerts(parked)
	if b.alertsWait(consumer, "r1") || !b.alertsWait("", "r1") {
		b.Error("the relay's alert waits for a consumer, or not at all")
	}
	b.wantDue(b.takeAlerts(taking("r1")))
	r := taking("r2")
	r.Namespace = ""
	b.wantDue(b.takeAlerts(r), due(parked, 1, true))
}

func alertAwkward(b *bundle) {
	var list []alerts.Alert
	for n, a := range awkward {
		alert := dead(fmt.Sprint(n), int64(n))
		alert.Topic = string(a.payload)
		list = append(list, alert)
	}
	b.appendAlerts(list...)
	if taken := b.takeAlerts(taking("r1")); len(taken.Due) != len(awkward) {
		b.Errorf("%d groups of %d", len(taken.Due), len(awkward))
	}
	t := b.begin()
	if err := b.Store.Operations().Alerts.Append(b.ctx, t, []alerts.Alert{dead("\xff", 1)}); err == nil {
		b.Error("a print that is not text was taken")
	}
}

// DESIGN §3 Alerts: counters in work transactions deadlock.
func alertAppendsApart(b *bundle) {
	b.appendAlerts(dead("x", 1))
	reader := b.begin()
	taken, err := b.Store.Operations().Alerts.Take(b.ctx, reader, taking("r1"))
	b.must(err)
	b.wantDue(taken, due(dead("x", 1), 1, true))
	var open []*txn.Txn
	for range 3 {
		t := b.begin()
		b.must(b.Store.Operations().Alerts.Append(b.ctx, t, []alerts.Alert{dead("x", 2), dead("y", 3)}))
		open = append(open, t)
	}
	var all sync.WaitGroup
	for _, t := range open {
		all.Go(func() { b.commit(t) })
	}
	all.Wait()
	b.commit(reader)
	b.wantDue(b.takeAlerts(taking("r1")), due(dead("x", 2), 4, true), due(dead("y", 3), 3, true))
}
