package watching

import (
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
)

// sinkFails reports whether the sink of p fails at a time, and since when, as the tables say.
func (p *process) sinkFails(at time.Time) (since time.Time, fails bool) {
	p.t.Helper()
	f := p.newFacts("c", at)
	if err := p.read(p.t.Context(), f); err != nil {
		p.t.Fatal(err)
	}
	list := f.sinks()
	if len(list) == 0 {
		return since, false
	}
	return list[0].Since.Truncate(time.Second), true
}

// A group is over while the sink is down, before the sink was told: then its failure says nothing
// any more. So it is after the sink took another alert, until it fails once more.
//
//evidence:alert
func TestSinkIsWellAgain(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{})
		at := func(minutes int) time.Time { return noon.Add(time.Duration(minutes) * time.Minute) }
		wants := func(minutes int, want time.Time) {
			t.Helper()
			if since, fails := p.sinkFails(at(minutes)); !since.Equal(want) || fails == want.IsZero() {
				t.Errorf("minute %d: fails %v, since %s; want %s", minutes, fails, since, want)
			}
		}
		one, two := []groups.Group{failing("01", noon)}, map[ledger.State]int64{ledger.Parked: 1}
		p.fail = &alerts.SendError{Reason: "status 500"}
		p.see(facts{now: at(0), consumer: "c", groups: one})
		wants(20, noon)
		p.see(facts{now: at(21), consumer: "c"})
		p.see(facts{now: at(27), consumer: "c"}) // over, and never told
		wants(28, time.Time{})
		one[0].StateAt = at(30)
		p.see(facts{now: at(30), consumer: "c", groups: one, steps: two}) // the next incident
		wants(50, at(30))
		p.fail = nil
		p.send("c", at(51))
		p.fail = &alerts.SendError{Reason: "no", Refused: true}
		p.see(facts{now: at(52), consumer: "c", groups: one, steps: two, redrives: []job.Redrive{{ID: 1, State: job.Paused}}})
		wants(70, at(52))
		p.fail = nil
		p.caller.Wants = func(a alerts.Alert) bool { return a.Kind == alerts.GroupFailing }
		p.see(facts{now: at(70), consumer: "c", groups: one, steps: map[ledger.State]int64{ledger.Parked: 1, ledger.Doubled: 1}, redrives: []job.Redrive{{ID: 1, State: job.Paused}}})
		wants(70, at(52)) // it took one that it does not even send
		// It takes another one, and the refused one only the next day
		p.see(facts{now: at(71), consumer: "c", groups: append(one, failing("02", noon)), steps: two, redrives: []job.Redrive{{ID: 1, State: job.Paused}}})
		if got := said(p.told); got != "group_failing firing warning" {
			t.Errorf("it took %s", got)
		}
		wants(90, time.Time{})
	})
}

// A sink that refuses all fails from the first one on, until it takes something: also once what it
// refused is over. So does one that is down for longer than an alert is tried.
//
//evidence:alert
func TestSinkThatRefusesAll(t *testing.T) {
	for name, refused := range map[string]bool{"refused": true, "down": false} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(t *testing.T, st store.Store) {
				p := newProcess(t, st, "p", "", alerts.Options{})
				p.fail = &alerts.SendError{Reason: "status", Refused: refused}
				one := []groups.Group{failing("01", noon)}
				hours := []int{0, 23, 24, 25, 49, 73}
				for _, hour := range hours {
					at := noon.Add(time.Duration(hour) * time.Hour)
					p.see(facts{now: at, consumer: "c", groups: one})
					if since, fails := p.sinkFails(at.Add(20 * time.Minute)); !fails || !since.Equal(noon) {
						t.Errorf("hour %d: fails %v, since %s", hour, fails, since)
					}
				}
				sends, err := p.store().Sends(t.Context(), "c", "sink", false)
				if err != nil || len(sends) != 1 || sends[0].Lost == 0 {
					t.Errorf("nothing is lost: %+v, %v", sends, err)
				}
				p.fail = nil
				at := noon.Add(100 * time.Hour)
				if got := said(p.see(facts{now: at, consumer: "c", groups: one})); got != "group_failing firing warning" {
					t.Errorf("it took %q", got)
				}
				if _, fails := p.sinkFails(at.Add(time.Hour)); fails {
					t.Error("it fails although it took one")
				}
			})
		})
	}
}
