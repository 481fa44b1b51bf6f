package watching

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/internal/alerting"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
)

// addressed is a sink that says where it sends, and records.
type addressed struct {
	alerts.Hook
	at string
}

func (a addressed) Address() string { return a.at }

// namedSink is the sink of a process of a consumer, or of the pages ("").
type namedSink struct {
	consumer, at string
	told         []alerts.Alert
}

// send has it send what the database owes it.
func (n *namedSink) send(t *testing.T, st store.Store) {
	t.Helper()
	hook := alerts.Hook(func(_ context.Context, a alerts.Alert) error { n.told = append(n.told, a); return nil })
	var sink alerts.Sink = hook
	if n.at != "" {
		sink = addressed{hook, n.at}
	}
	o := alerts.Options{Sinks: []alerts.Sink{sink}}.WithDefaults()
	all := alerting.NewSinks(n.consumer, o, slog.New(slog.DiscardHandler), nil)
	defer func() { _ = all.Close(t.Context()) }()
	w := New(Options{Store: st, Consumer: n.consumer, Owner: n.consumer + n.at, Alerts: o, Callers: all.Callers, Logger: slog.New(slog.DiscardHandler)})
	for id, caller := range all.Callers {
		if err := (&sender{w: w, sink: id, caller: caller, wake: outbox.NewSignal()}).work(t.Context(), ""); err != nil {
			t.Fatal(err)
		}
	}
}

// Receivers behind sinks of one name each hear the beginning and the end; one receiver of several
// processes hears each once.
//
//evidence:alert
func TestSinksOfOneName(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		ui, same, moved := &namedSink{at: "ops"}, &namedSink{consumer: "c", at: "ops"}, &namedSink{consumer: "c", at: "team"}
		hook, other := &namedSink{consumer: "c"}, &namedSink{consumer: "d"}
		all := []*namedSink{ui, same, moved, hook, other}
		put := func(state condition.State) {
			t.Helper()
			c := condition.Condition{Alert: alerts.Alert{Key: "k", Kind: alerts.ConsumerAbsent, Severity: alerts.Critical, Consumer: "x", Since: noon}, State: state, BaseAt: noon}
			if state == condition.Resolved {
				c.Ended = noon
			}
			if ok, err := st.Operations().Conditions.Put(t.Context(), "", "", condition.Change{Conditions: []condition.Condition{c}}); err != nil || !ok {
				t.Fatal(ok, err)
			}
		}
		put(condition.Firing)
		for _, n := range all {
			n.send(t, st)
		}
		put(condition.Resolved)
		for i := range all { // in another order
			all[len(all)-1-i].send(t, st)
		}
		const whole = "consumer_absent firing critical, consumer_absent resolved critical"
		for _, n := range []*namedSink{moved, hook, other} {
			if got := said(n.told); got != whole {
				t.Errorf("%s at %q heard %q", n.consumer, n.at, got)
			}
		}
		if got := said(append(ui.told, same.told...)); got != whole {
			t.Errorf("one receiver of two processes heard %q", got)
		}
	})
}

// A sink that failed, and was replaced by one with another address, fails no more.
func TestSinkThatIsGone(t *testing.T) {
	onEachStore(t, func(t *testing.T, st store.Store) {
		p := newProcess(t, st, "p", "", alerts.Options{})
		now := time.Now()
		change := condition.Change{Conditions: []condition.Condition{{
			Alert: alerts.Alert{Key: "k", Kind: alerts.StepParked, Severity: alerts.Error, Consumer: "c", Since: now}, Namespace: "c", State: condition.Firing, BaseAt: now,
		}}}
		for _, sink := range []string{"sink", "gone"} {
			change.Sends = append(change.Sends, condition.Send{Key: "k", Sink: sink, Failures: 3, Failing: now.Add(-time.Hour), Down: now.Add(-time.Hour), Due: now, Error: "no answer"})
		}
		if ok, err := p.store().Put(t.Context(), "", "", change); err != nil || !ok {
			t.Fatal(ok, err)
		}
		f := p.newFacts("c", now)
		if err := p.read(t.Context(), f); err != nil {
			t.Fatal(err)
		}
		if list := f.sinks(); len(list) != 1 || list[0].Topic != "sink" {
			t.Errorf("%+v", list)
		}
	})
}
