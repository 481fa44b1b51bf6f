package watching

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/dlq/job"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

// onEachStore runs f with an empty database of each kind, and then checks it.
func onEachStore(t *testing.T, f func(t *testing.T, st store.Store)) {
	run := func(t *testing.T, st interface {
		store.Store
		store.Checker
		Close() error
	}) {
		t.Cleanup(func() { _ = st.Close() })
		f(t, st)
		if report, err := st.Check(t.Context()); err != nil || !report.OK() {
			t.Errorf("%+v, %v", report, err)
		}
	}
	t.Run("sqlite", func(t *testing.T) {
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		run(t, st)
	})
	t.Run("postgres", func(t *testing.T) {
		dsn, schema := pgstore.New(t)
		st, err := postgres.New(t.Context(), pgtest.OpenDB(t, pgstore.Driver(t), dsn), postgres.Options{Schema: schema})
		if err != nil {
			t.Fatal(err)
		}
		run(t, st)
	})
}

// process is a process of consumer c with a sink that records.
type process struct {
	*Watch
	*sender
	t    *testing.T
	told []alerts.Alert
	fail error

	away   bool
	direct []alerts.Alert // what was sent without a row
}

func newProcess(t *testing.T, st store.Store, owner, environment string, o alerts.Options) *process {
	p := &process{t: t}
	caller := alerting.NewCaller(func(_ context.Context, a alerts.Alert) error {
		if p.fail == nil {
			p.told = append(p.told, a)
		}
		return p.fail
	}, slog.New(slog.DiscardHandler))
	p.watch(st, owner, environment, o, caller)
	return p
}

// watch gives the process a watch, and the sink that caller calls.
func (p *process) watch(st store.Store, owner, environment string, o alerts.Options, caller *alerting.Caller) {
	p.t.Helper()
	p.Watch = New(Options{
		Store: st, Consumer: "c", Owner: owner, Environment: environment, Build: "v1", Alerts: o.WithDefaults(),
		Callers: map[string]*alerting.Caller{"sink": caller}, Logger: slog.New(slog.DiscardHandler),
		Away: func() bool { return p.away }, Direct: func(a alerts.Alert) { p.direct = append(p.direct, a) },
	})
	if !p.begin(p.t.Context()) {
		p.t.Fatal("no origin")
	}
	p.sender = &sender{w: p.Watch, sink: "sink", caller: caller, wake: outbox.NewSignal()}
}

// see has the process judge facts, and send what follows from them. It returns what was sent.
func (p *process) see(f facts) []alerts.Alert {
	p.t.Helper()
	ctx := p.t.Context()
	if f.bounds.Crashes == 0 {
		f.bounds = p.Watch.o.Alerts.Bounds
	}
	var err error
	if f.current, err = p.store().List(ctx, f.consumer, false); err != nil {
		p.t.Fatal(err)
	}
	if ok, err := p.store().Put(ctx, "", "", conclude(p.Watch, &f, judge(&f))); err != nil || !ok {
		p.t.Fatal(ok, err)
	}
	p.told = nil
	p.send(f.consumer, f.now)
	return p.told
}

// send has the process send what a namespace owes its sink at a time.
func (p *process) send(namespace string, at time.Time) {
	p.t.Helper()
	ctx, name := p.t.Context(), "send:"+namespace+":sink"
	_, ok, err := p.store().Lease(ctx, name, p.Watch.o.Owner, time.Minute, 0)
	if err == nil && ok {
		err = errors.Join(p.sendAll(ctx, name, namespace, at), p.store().Release(ctx, name, p.Watch.o.Owner, true))
	}
	if err != nil || !ok {
		p.t.Fatal(ok, err)
	}
}

func said(list []alerts.Alert) string {
	var words []string
	for _, a := range list {
		words = append(words, string(a.Kind)+" "+string(a.Phase)+" "+string(a.Severity))
	}
	return strings.Join(words, ", ")
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func failing(print string, at time.Time) groups.Group {
	return groups.Group{
		ID: groups.ID{Consumer: "c", Handler: "h", ErrorFingerprint: print}, State: groups.New, StateAt: at, First: at, Last: at, Open: 1, Total: 1,
		FirstLetter: at.Unix(), LastLetter: at.Unix(), Sample: `total of "ann" is 7`, FirstBuild: "v1",
	}
}

// kinds are the facts in which each kind fires, that it must be seen, and how often.
var kinds = map[alerts.Kind]struct {
	severity alerts.Severity
	lasts    time.Duration // until it fires
	bad      func(f *facts)
}{
	alerts.GroupFailing:  {alerts.Warning, 0, func(f *facts) { f.groups = []groups.Group{failing("f00", noon)} }},
	alerts.LettersOld:    {alerts.Warning, 0, func(f *facts) { f.unmuted = f.now.Add(-25 * time.Hour) }},
	alerts.LettersExpire: {alerts.Critical, 0, func(f *facts) { f.openLetters, f.oldest = 10*time.Hour, f.now.Add(-9*time.Hour) }},
	alerts.BacklogLag:    {alerts.Error, 5 * time.Minute, func(f *facts) { f.depth = backlog.Depth{Ready: 3, Oldest: 6 * time.Minute} }},
	alerts.PauseForgotten: {alerts.Warning, 0, func(f *facts) {
		f.pause = instance.Pause{Consumer: "c", At: f.now.Add(-2 * time.Hour)}
		f.depth.Ready = 1
	}},
	alerts.RedrivePaused: {alerts.Warning, 0, func(f *facts) {
		f.redrives = []job.Redrive{{ID: 42, State: job.Paused, Why: "letter 17 failed again as letter 18"}}
	}},
	alerts.RedriveStalled: {alerts.Warning, 10 * time.Minute, func(f *facts) { f.redrives = []job.Redrive{{ID: 42, State: job.Running, Count: 9}} }},
	alerts.StepParked:     {alerts.Error, 0, func(f *facts) { f.steps = map[ledger.State]int64{ledger.Parked: 2} }},
	alerts.StepDoubled:    {alerts.Critical, 0, func(f *facts) { f.steps = map[ledger.State]int64{ledger.Doubled: 1} }},
	alerts.StepSkipped:    {alerts.Warning, 0, func(f *facts) { f.steps = map[ledger.State]int64{ledger.SkippedNow: 1} }},
	alerts.SinkFailing:    {alerts.Warning, 0, func(f *facts) { f.sends = []condition.Send{{Sink: "other", Down: f.now.Add(-time.Hour)}} }},
	alerts.OutboxLag: {alerts.Critical, 2 * time.Minute, func(f *facts) {
		f.outboxes = []outbox.Status{{Outbox: "o", Ready: 5, Oldest: 2 * time.Minute, Relays: 1}}
	}},
	alerts.RowsParked: {alerts.Warning, 0, func(f *facts) { f.outboxes = []outbox.Status{{Outbox: "o", Parked: 5, Relays: 1}} }},
	alerts.WorkWithoutOwner: {alerts.Warning, 10 * time.Minute, func(f *facts) {
		f.deep, f.depths = true, []backlog.HandlerDepth{{Consumer: "gone", Handler: "h", Depth: backlog.Depth{Ready: 1}}}
	}},
	alerts.ConsumerAbsent: {alerts.Critical, 0, func(f *facts) {
		f.instances = []instance.Instance{{Consumer: "x", Host: "pod-1", Beat: f.now.Add(-2 * time.Minute), Age: 2 * time.Minute}}
	}},
	alerts.ConsumerCrashing: {alerts.Error, 0, func(f *facts) {
		f.instances = []instance.Instance{{Consumer: "y"}}
		for range 3 {
			f.instances = append(f.instances, instance.Instance{Consumer: "y", Beat: f.now.Add(-time.Minute), Age: time.Minute})
		}
	}},
	alerts.SubscriptionStalled: {alerts.Error, 0, func(f *facts) { f.stalled = map[string][]outbox.TopicStatus{"gone": {{Topic: "t", Events: 2}}} }},
	alerts.ScheduleMissed:      {alerts.Error, 0, func(f *facts) { f.schedules = []store.Schedule{{Name: "nightly", Seen: f.now.Add(-time.Hour)}} }},
	alerts.ReconcileGap:        {alerts.Error, 0, func(f *facts) { f.schedules = []store.Schedule{{Name: "nightly", GapFrom: f.now, GapTo: f.now}} }},
	alerts.Missing:             {alerts.Error, 0, func(f *facts) { f.schedules = []store.Schedule{{Name: "nightly", Missing: 3}} }},
}

// Each kind fires and is resolved, by another process than the one that sent the first: that was
// killed. Off turns it off. What both say is golden.
//
//evidence:alert
func TestEveryKind(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		var all []alerts.Alert
		defer func() { golden(t, all) }()
		for kind, tt := range kinds {
			calm := func(at time.Time) facts {
				f := facts{now: at, consumer: "c", deep: true, instances: []instance.Instance{{Consumer: "x"}, {Consumer: "y"}}}
				if strings.HasPrefix(string(kind), "outbox") || kind == alerts.RowsParked || kind == alerts.WorkWithoutOwner ||
					kind == alerts.ConsumerAbsent || kind == alerts.ConsumerCrashing || kind == alerts.ScheduleMissed || kind == alerts.Missing || kind == alerts.ReconcileGap || kind == alerts.SubscriptionStalled {
					f.consumer = ""
				}
				return f
			}
			bad := func(at time.Time) facts { f := calm(at); tt.bad(&f); return f }
			off := newProcess(t, st, "off", "production", alerts.Options{Bounds: alerts.Bounds{Off: []alerts.Kind{kind}}})
			off.see(bad(noon))
			first := newProcess(t, st, "first", "production", alerts.Options{})
			got := first.see(bad(noon))
			if tt.lasts > 0 {
				if got = append(got, first.see(bad(noon.Add(tt.lasts/2)))...); len(got) > 0 {
					t.Errorf("%s: too early: %s", kind, said(got))
				}
				got = first.see(bad(noon.Add(tt.lasts)))
			}
			if want := fmt.Sprintf("%s firing %s", kind, tt.severity); said(got) != want || len(off.told) > 0 {
				t.Fatalf("%s: %s, want %s; off: %s", kind, said(got), want, said(off.told))
			}
			if a := got[0]; a.Key == "" || a.Title == "" || a.Text == "" || a.Environment != "production" || a.ID == "" {
				t.Errorf("%+v", a)
			}
			second := newProcess(t, st, "second", "production", alerts.Options{})
			if again := second.see(bad(noon.Add(tt.lasts + time.Second))); len(again) > 0 {
				t.Errorf("%s: again: %s", kind, said(again))
			}
			second.see(calm(noon.Add(time.Hour)))
			if early := second.see(calm(noon.Add(time.Hour + 4*time.Minute))); len(early) > 0 {
				t.Errorf("%s: before its quiet time: %s", kind, said(early))
			}
			end := second.see(calm(noon.Add(time.Hour + 5*time.Minute)))
			if len(end) != 1 || end[0].Phase != alerts.Resolved || end[0].Key != got[0].Key {
				t.Fatalf("%s: then %s", kind, said(end))
			}
			all = append(all, got[0], end[0])
		}
	})
}

// A group whose letters are all redriven and fail again is not resolved; it is when it is muted.
//
//evidence:alert
func TestRedriveThatFailsAgain(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{})
		g := failing("f00", noon)
		at := func(after time.Duration) facts {
			return facts{now: noon.Add(after), consumer: "c", groups: []groups.Group{g}}
		}
		if got := said(p.see(at(0))); got != "group_failing firing warning" {
			t.Fatal(got)
		}
		for i := range 6 { // all are sent, all fail again
			g.State, g.Open = groups.Ongoing, int64(i%2)
			if got := p.see(at(time.Duration(i) * 10 * time.Minute)); len(got) > 0 {
				t.Errorf("turn %d: %s", i, said(got))
			}
		}
		g.State, g.Open = groups.Regressed, 20
		if got := said(p.see(at(time.Hour))); got != "group_failing again error" {
			t.Error(got)
		}
		g.MutedBy = "ann"
		p.see(at(time.Hour))
		if got := said(p.see(at(2 * time.Hour))); got != "group_failing resolved error" {
			t.Error(got)
		}
	})
}

// Two environments on copies of one database have incidents of their own. The text of an error
// is shown without what varies, unless it is asked for.
//
//evidence:alert
func TestEnvironmentsAndText(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		a, b := newProcess(t, st, "a", "production", alerts.Options{URL: "https://ops.example/"}), newProcess(t, st, "b", "staging", alerts.Options{})
		f := facts{now: noon, consumer: "c", groups: []groups.Group{failing("f00", noon)}}
		one := a.see(f)[0]
		f.errorText = true
		other := b.see(f)
		if one.Key == other[0].Key || one.Error != "total of # is #" || other[0].Error != `total of "ann" is 7` {
			t.Errorf("%+v\n%+v", one, other)
		}
		if strings.Contains(fmt.Sprintf("%+v", one), "ann") || one.Links[0].URL != "https://ops.example/g/f00?consumer=c&handler=h" || one.Command != "headrace dlq why f00" {
			t.Errorf("%+v", one)
		}
	})
}

// More alerts than PerMinute wait for the next minutes, the severest first. Each is told under its
// own key, and so is its end; ends never wait.
//
//evidence:alert
func TestPerMinute(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{PerMinute: 3})
		f := facts{now: noon, consumer: "c"}
		for i := range 8 {
			f.groups = append(f.groups, failing(fmt.Sprintf("%08x", i), noon.Add(time.Duration(i)*time.Second)))
		}
		told := make(map[string]bool)
		for minute, want := range []int{3, 3, 2, 0} {
			f.now = noon.Add(time.Duration(minute) * time.Minute)
			got := p.see(f)
			if len(got) != want {
				t.Errorf("in minute %d: %s", minute, said(got))
			}
			for _, a := range got {
				told[a.Key] = true
			}
			if got := p.see(f); len(got) != 0 {
				t.Errorf("in the same minute: %s", said(got))
			}
		}
		var ends []alerts.Alert
		for minute := range 30 {
			if got := p.see(facts{now: f.now.Add(time.Duration(minute) * time.Minute), consumer: "c"}); len(got) > 0 {
				ends = got
			}
		}
		for _, a := range ends {
			if a.Phase != alerts.Resolved || !told[a.Key] {
				t.Errorf("%+v", a)
			}
		}
		if len(told) != 8 || len(ends) != 8 {
			t.Errorf("%d were told, and %d ends at once", len(told), len(ends))
		}
	})
}

// A sink that fails gets the beginning before the end, and no end of what it was not told; one
// that refuses for good is not asked again.
//
//evidence:alert
func TestOrderUnderFailures(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{})
		bad := facts{now: noon, consumer: "c", steps: map[ledger.State]int64{ledger.Parked: 1}}
		p.fail = errors.New("down")
		p.see(bad)
		for _, after := range []time.Duration{time.Hour, 2 * time.Hour} {
			p.see(facts{now: noon.Add(after), consumer: "c"})
		}
		p.fail = nil
		if got := p.see(facts{now: noon.Add(3 * time.Hour), consumer: "c"}); len(got) != 0 {
			t.Errorf("of what was never told: %s", said(got))
		}
		p.fail = &alerts.SendError{Reason: "no", Refused: true}
		bad.redrives = []job.Redrive{{ID: 1, State: job.Paused}}
		bad.steps = nil
		p.see(bad)
		sends, err := p.store().Sends(t.Context(), "c", "sink", false)
		lost := int64(0)
		for _, s := range sends {
			lost += s.Lost
		}
		if err != nil || lost != 1 {
			t.Errorf("%+v, %v", sends, err)
		}
	})
}
