package storetest

import (
	"time"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

var scheduleTests = []test{
	{name: "a schedule is known since its first declaration", run: scheduleDeclared},
	{name: "another expression begins anew", run: scheduleChanged},
	{name: "who makes other ticks is not seen", run: scheduleSeen},
	{name: "of those who ask for a tick at once one does", run: scheduleFired},
	{name: "how far a source of truth was compared never goes back", run: scheduleChecked},
}

var nightly = store.Schedule{Name: "nightly", Cron: "30 2 * * *", Zone: "Europe/Berlin", Within: 25 * time.Hour}

func (b *bundle) declare(s store.Schedule) store.Schedule {
	b.Helper()
	row, err := b.Store.Operations().Schedules.Declare(b.ctx, s)
	b.must(err)
	return row
}

func (b *bundle) beat(s store.Schedule) store.Schedule {
	b.Helper()
	row, err := b.Store.Operations().Schedules.Beat(b.ctx, s)
	b.must(err)
	return row
}

func scheduleDeclared(b *bundle) {
	if row := b.beat(nightly); row.Name != "" {
		b.Errorf("before it is declared: %+v", row)
	}
	first := b.declare(nightly)
	if first.Name != "nightly" || first.Cron != nightly.Cron || first.Zone != nightly.Zone || first.Within != nightly.Within || first.Since.IsZero() || first.Now.Before(first.Since) || !first.Seen.IsZero() || !first.Fired.IsZero() {
		b.Errorf("%+v", first)
	}
	b.shift(time.Hour)
	if second := b.declare(nightly); !second.Since.Equal(first.Since) || second.Now.Sub(first.Now) < time.Hour {
		b.Errorf("%+v after %+v", second, first)
	}
	longer := nightly
	longer.Within = 48 * time.Hour
	if row := b.declare(longer); row.Within != longer.Within || !row.Since.Equal(first.Since) {
		b.Errorf("with another Within: %+v", row)
	}
	list, err := b.Store.Operations().Schedules.List(b.ctx)
	if err != nil || len(list) != 1 || list[0].Name != "nightly" {
		b.Errorf("%+v, %v", list, err)
	}
	bad := nightly
	bad.Name = "a\x00b"
	if _, err := b.Store.Operations().Schedules.Declare(b.ctx, bad); err == nil {
		b.Error("a name with NUL was taken")
	}
}

func scheduleChanged(b *bundle) {
	first := b.declare(nightly)
	b.shift(time.Hour)
	for n, change := range []func(*store.Schedule){func(s *store.Schedule) { s.Cron = "0 3 * * *" }, func(s *store.Schedule) { s.Zone = "UTC" }} {
		changed := nightly
		change(&changed)
		row := b.declare(changed)
		if row.Cron != changed.Cron || row.Zone != changed.Zone || row.Since.Sub(first.Since) < time.Duration(n+1)*time.Hour {
			b.Errorf("%+v", row)
		}
		b.shift(time.Duration(n+2) * time.Hour)
	}
}

func scheduleSeen(b *bundle) {
	b.declare(nightly)
	b.shift(time.Hour)
	b.beat(nightly)
	seen := b.beat(nightly).Seen
	if seen.IsZero() {
		b.Fatal("it is not seen")
	}
	b.shift(time.Hour + 10*time.Second)
	b.beat(nightly) // too soon
	if row := b.beat(nightly); !row.Seen.Equal(seen) {
		b.Errorf("noted again after ten seconds: %+v", row)
	}
	b.shift(2 * time.Hour)
	other := nightly
	other.Cron = "0 0 * * *"
	b.beat(other)
	if row := b.beat(other); !row.Seen.Equal(seen) || row.Cron != nightly.Cron {
		b.Errorf("another expression: %+v", row)
	}
	b.beat(nightly)
	if row := b.beat(nightly); row.Seen.Sub(seen) < 30*time.Minute {
		b.Errorf("%+v", row)
	}
}

func scheduleFired(b *bundle) {
	fire := func(name string, last time.Time, want bool) {
		b.Helper()
		if got, err := b.Store.Operations().Schedules.Fire(b.ctx, name, "ana", last); got != want || err != nil {
			b.Errorf("%q: %t, %v", name, got, err)
		}
	}
	fire("nightly", time.Time{}, false)
	b.declare(nightly)
	fire("nightly", time.Now(), false)
	fire("nightly", time.Time{}, true)
	fire("nightly", time.Time{}, false)
	fire("a\x00", time.Time{}, false)
	row := b.beat(nightly)
	if row.FiredBy != "ana" || row.Fired.IsZero() {
		b.Errorf("%+v", row)
	}
	b.shift(time.Second)
	fire("nightly", row.Fired, true)
	fire("nightly", row.Fired, false)
	b.wantAudit(audit.Schedule, "nightly", "fire ana: ", "fire ana: ")
}

func scheduleChecked(b *bundle) {
	schedules := b.Store.Operations().Schedules
	if _, found, err := schedules.Get(b.ctx, nightly.Name); found || err != nil {
		b.Errorf("before it is declared: %t, %v", found, err)
	}
	b.declare(nightly)
	get := func() store.Schedule {
		b.Helper()
		row, found, err := schedules.Get(b.ctx, nightly.Name)
		if !found || err != nil {
			b.Fatal(found, err)
		}
		return row
	}
	if row := get(); !row.Checked.IsZero() || row.Missing != -1 {
		b.Errorf("%+v", row)
	}
	to := time.Now().UTC().Truncate(time.Second)
	for _, at := range []time.Time{to.Add(-time.Hour), to, to.Add(-time.Minute)} {
		b.in(func(t *txn.Txn) {
			b.must(schedules.Compared(b.ctx, t, nightly.Name, store.Comparison{To: at, Missing: int64(time.Since(at).Minutes()), GapFrom: at.Add(-2 * time.Hour), GapTo: at}))
		})
	}
	last := to.Add(-time.Minute)
	if row := get(); !row.Checked.Equal(to) || row.Missing != 1 || !row.GapFrom.Equal(last.Add(-2*time.Hour)) || !row.GapTo.Equal(last) {
		b.Errorf("%+v, want %s", row, to)
	}
	b.in(func(t *txn.Txn) { b.must(schedules.Compared(b.ctx, t, nightly.Name, store.Comparison{To: to})) })
	if row := get(); row.Missing != 0 || !row.GapFrom.IsZero() || !row.GapTo.IsZero() {
		b.Errorf("then %+v", row)
	}
	changed := nightly
	changed.Cron = "0 3 * * *"
	if row := b.declare(changed); !row.Checked.Equal(to) {
		b.Errorf("with another expression: %+v", row)
	}
}
