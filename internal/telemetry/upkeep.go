package telemetry

import (
	"maps"
	"slices"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// The values of headrace.outcome for an alert's hook.
const (
	sent   = "sent"
	failed = "failed"
)

// upkeepCounters are the instruments of Upkeep.
type upkeepCounters struct {
	groups     metric.Int64Counter
	redriven   metric.Int64Counter
	rehearsals metric.Int64Counter
	alerts     metric.Int64Counter
}

func newUpkeepCounters(m *maker, meter metric.Meter) upkeepCounters {
	return upkeepCounters{
		groups:     instrument(m, meter.Int64Counter, "headrace.dead_letter_groups.opened", "{group}", "Groups of dead letters that became new, escalating or regressed, counted by the process that found it."),
		redriven:   instrument(m, meter.Int64Counter, "headrace.redrive.messages", "{message}", "Letters of redrives by what became of them."),
		rehearsals: instrument(m, meter.Int64Counter, "headrace.rehearsals", "{message}", "Letters rehearsed by outcome."),
		alerts:     instrument(m, meter.Int64Counter, "headrace.alerts.sent", "{alert}", "Alerts by sink, kind and outcome: sent, failed."),
	}
}

// Upkeep records what a consumer's process does besides messages. It is safe for concurrent
// use; nil records nothing.
type Upkeep struct {
	t        *Telemetry
	consumer attribute.KeyValue
	states   []string

	mu    sync.Mutex
	known map[string]map[string]metric.MeasurementOption // by consumer and state
	ran   map[string]time.Time                           // by task
}

// NewUpkeep returns the Upkeep of a consumer, nil for a nil t. states are those that a group is counted for,
// outcomes those of a redriven letter and of a rehearsed one. All counters of the consumer
// begin at 0, but those of Alerts: a series that begins at 1 has no increase.
func NewUpkeep[S, O, P ~string](t *Telemetry, consumer string, states []S, redriven []O, rehearsed []P) *Upkeep {
	if t == nil {
		return nil
	}
	u := &Upkeep{
		t: t, consumer: attribute.String("headrace.consumer", consumer),
		known: make(map[string]map[string]metric.MeasurementOption), ran: make(map[string]time.Time),
	}
	for _, state := range states {
		u.states = append(u.states, string(state))
	}
	u.Consumers(consumer)
	for _, outcome := range redriven {
		u.Redriven(string(outcome), 0)
	}
	for _, outcome := range rehearsed {
		u.Rehearsed(string(outcome), 0)
	}
	return u
}

func (u *Upkeep) outcome(name string) metric.MeasurementOption {
	return metric.WithAttributes(u.consumer, attribute.String("headrace.outcome", name))
}

// Consumers has the counters of groups begin at 0 for consumers that were not known: a process
// counts the groups of all consumers of its database.
func (u *Upkeep) Consumers(names ...string) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, name := range names {
		if u.known[name] != nil {
			continue
		}
		u.known[name] = make(map[string]metric.MeasurementOption)
		for _, state := range u.states {
			labels := metric.WithAttributes(attribute.String("headrace.consumer", name), attribute.String("headrace.group.state", state))
			u.known[name][state] = labels
			u.t.upkeep.groups.Add(background, 0, labels)
		}
	}
}

// GroupOpened counts a group of a consumer that became state, if the state is one that is
// counted.
func (u *Upkeep) GroupOpened(consumer, state string) {
	if u == nil || !slices.Contains(u.states, state) {
		return
	}
	u.Consumers(consumer)
	u.mu.Lock()
	defer u.mu.Unlock()
	u.t.upkeep.groups.Add(background, 1, u.known[consumer][state])
}

// Redriven counts n letters of a redrive that have an outcome.
func (u *Upkeep) Redriven(outcome string, n int64) {
	if u != nil {
		u.t.upkeep.redriven.Add(background, n, u.outcome(outcome))
	}
}

// Rehearsed counts n rehearsed letters.
func (u *Upkeep) Rehearsed(outcome string, n int64) {
	if u != nil {
		u.t.upkeep.rehearsals.Add(background, n, u.outcome(outcome))
	}
}

// Alerts counts n alerts of a kind that a sink took, if ok, or did not. sink is its name, which holds no
// secret. A sink's counters begin with an n of 0.
func (u *Upkeep) Alerts(sink, kind string, ok bool, n int64) {
	if u == nil {
		return
	}
	outcome := failed
	if ok {
		outcome = sent
	}
	labels := metric.WithAttributes(attribute.String("headrace.sink", sink), attribute.String("headrace.kind", kind))
	u.t.upkeep.alerts.Add(background, n, u.outcome(outcome), labels)
}

// Ran notes that a task of maintenance has just run without an error.
func (u *Upkeep) Ran(task string) {
	if u == nil {
		return
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	u.ran[task] = time.Now()
}

// Values are the gauges that it knows.
func (u *Upkeep) Values() (values []Value) {
	if u == nil {
		return nil
	}
	u.mu.Lock()
	defer u.mu.Unlock()
	for _, task := range slices.Sorted(maps.Keys(u.ran)) {
		values = append(values, Value{Gauge: LastRun, Kind: task, At: u.ran[task]})
	}
	return values
}
