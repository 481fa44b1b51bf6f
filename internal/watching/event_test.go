package watching

import (
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/store"
)

// The end of a redrive is told once, also by a sink that took nothing for a while, and never resolved;
// what was only planned has no end.
//
//evidence:alert
func TestRedriveEnded(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{URL: "https://ops.example"})
		done := job.Redrive{ID: 42, State: job.Done, Count: 9, Applied: noon.Add(-time.Hour), Ended: noon.Add(-time.Minute)}
		done.Succeeded, done.FailedAgain, done.Skipped = 6, 2, 1
		unapplied := job.Redrive{ID: 43, State: job.Cancelled, Ended: noon}
		at := func(after time.Duration) string {
			return said(p.see(facts{now: noon.Add(after), consumer: "c", redrives: []job.Redrive{done, unapplied}}))
		}
		p.fail = errGone
		at(0)
		p.fail = nil
		if got := at(time.Hour); got != "redrive_ended  info" {
			t.Fatalf("%q", got)
		}
		a := p.told[0]
		if !strings.Contains(a.Text, "6 succeeded, 2 failed again, 1 was skipped") || a.Topic != "R-42" || a.Links[0].URL != "https://ops.example/r/42" {
			t.Errorf("%+v", a)
		}
		for _, after := range []time.Duration{2 * time.Hour, 25 * time.Hour, 50 * time.Hour} {
			if got := at(after); got != "" {
				t.Errorf("after %s: %q", after, got)
			}
		}
	})
}

// A plan is one of a group if its filter names the group, and no other handler.
func TestPlanned(t *testing.T) {
	g := groups.Group{ID: groups.ID{Consumer: "c", Handler: "h", ErrorFingerprint: "f00d"}}
	for _, c := range []struct {
		consumer, handler, fingerprint string
		want                           bool
	}{
		{"c", "h", "f00d", true}, {"c", "", "f00d", true}, {"c", "other", "f00d", false}, {"c", "h", "f00d00", false}, {"c", "h", "", false}, {"d", "h", "f00d", false},
	} {
		f := facts{redrives: []job.Redrive{{Consumer: c.consumer, Handler: c.handler, ErrorFingerprint: c.fingerprint, Filter: "error fingerprint f00d", State: job.Planned}}}
		if got := f.planned(g); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
		f.redrives[0].State = job.Done
		if f.planned(g) {
			t.Errorf("%+v: it has ended", c)
		}
	}
}

// A schedule that a program has no more is not missed for ever.
func TestScheduleThatIsGone(t *testing.T) {
	for _, c := range []struct {
		seen, within time.Duration
		want         int
	}{{time.Hour, 0, 1}, {6 * 24 * time.Hour, 0, 1}, {8 * 24 * time.Hour, 0, 0}, {8 * 24 * time.Hour, 35 * 24 * time.Hour, 1}} {
		f := facts{now: noon, bounds: alerts.Bounds{}.WithDefaults(), schedules: []store.Schedule{{Name: "s", Seen: noon.Add(-c.seen), Within: c.within}}}
		if got := len(f.ticks()); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}

// A discard says how many letters were discarded.
func TestBecameOf(t *testing.T) {
	r := job.Redrive{Kind: job.Discarding, Count: 3}
	r.Succeeded, r.Skipped = 1, 2
	if got := becameOf(r); got != "Of 3 letters, 1 was discarded, 2 were skipped" {
		t.Error(got)
	}
}
