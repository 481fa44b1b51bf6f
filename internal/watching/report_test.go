package watching

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/store"
)

// down is what a process says of itself in these tests.
var down = alerts.Alert{Kind: alerts.SourceDown, Severity: alerts.Critical, Consumer: "c", Title: "c: the broker is away", Text: "the broker is away", Count: 1}

// at has the process judge its reports, those of others, and which processes run.
func (p *process) at(after time.Duration, running ...string) string {
	p.t.Helper()
	_, list, _ := p.Watch.reports.take()
	f := facts{now: noon.Add(after), consumer: "c", self: p.Watch.o.Owner, reports: list}
	for _, id := range running {
		f.instances = append(f.instances, instance.Instance{ID: id, Consumer: "c"})
	}
	return said(p.see(f))
}

// What two processes report is one condition, and lasts until both say that it is over. Of a process
// that died nothing fires for ever.
//
//evidence:alert
func TestReports(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		a, b, c := newProcess(t, st, "a", "", alerts.Options{}), newProcess(t, st, "b", "", alerts.Options{}), newProcess(t, st, "other", "", alerts.Options{})
		want := func(what, got, want string) {
			t.Helper()
			if got != want {
				t.Fatalf("%s: %q, want %q", what, got, want)
			}
		}
		all := []string{"a", "b", "other"}
		a.Report(down)
		b.Report(down)
		want("it begins", a.at(0, all...), "source_down firing critical")
		want("another one says so", b.at(time.Second, all...), "")
		want("a third one looks", c.at(time.Hour, all...), "")
		a.Over(down.Kind, "", "", alerts.Alert{})
		want("it is over for one", a.at(time.Hour, all...), "")
		want("not for the other", b.at(time.Hour+time.Second, all...), "")
		want("for long", a.at(2*time.Hour, all...)+c.at(3*time.Hour, all...), "")
		want("that one is killed", c.at(4*time.Hour, "a", "other"), "")
		want("then", a.at(4*time.Hour+6*time.Minute, "a", "other"), "source_down resolved critical")
		if len(a.direct)+len(b.direct)+len(c.direct) > 0 {
			t.Errorf("%v, %v, %v", a.direct, b.direct, c.direct)
		}
	})
}

// gone is a store whose conditions cannot be read.
type gone struct{ condition.Store }

var errGone = errors.New("gone")

func (gone) Lease(context.Context, string, string, time.Duration, time.Duration) (time.Time, bool, error) {
	return time.Time{}, false, errGone
}

// Without the database a report is sent directly, once, and so is its end: also if the database is only
// found to be away, and after the end of the watch.
//
//evidence:alert
func TestReportsWithoutADatabase(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		up := alerts.Alert{Kind: alerts.SourceUp, Consumer: "c", Text: "it is back"}
		for name, begin := range map[string]func(p *process){
			"known": func(p *process) { p.away = true; p.Report(down); p.Report(down) },
			"found": func(p *process) {
				p.Report(down)
				p.Watch.reports.refused(p.Watch.o.Direct)
				p.reports.refused(p.Watch.o.Direct)
			},
			"ended":   func(p *process) { p.Watch.reports.end(); p.Report(down) },
			"ends":    func(p *process) { p.Report(down); p.origin.ID = ""; p.last(t.Context(), nil) },
			"is away": func(p *process) { p.Report(down); p.table = gone{}; p.last(t.Context(), nil) },
		} {
			p := newProcess(t, st, name, "", alerts.Options{})
			begin(p)
			if got := said(p.direct); got != "source_down  critical" {
				t.Errorf("%s: %q", name, got)
			}
			p.away = false
			p.Over(down.Kind, "", "", up)
			p.Over(down.Kind, "", "", up)
			if len(p.direct) != 2 || p.direct[1].Kind != alerts.SourceUp {
				t.Errorf("%s: then %q", name, said(p.direct))
			}
		}
	})
}

// What a process says as it ends is a row and sent before it has ended.
func TestLastReport(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{})
		ctx, end := context.WithCancel(t.Context())
		end()
		p.Report(down)
		p.last(ctx, []*sender{p.sender})
		list, err := p.store().List(t.Context(), "c", false)
		if err != nil || len(list) != 1 || list[0].Instance != "p" || said(p.told) != "source_down firing critical" || len(p.direct) > 0 {
			t.Errorf("%+v, %v; told %q, direct %q", list, err, said(p.told), said(p.direct))
		}
	})
}
