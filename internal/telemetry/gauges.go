package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/headrace/headrace/outbox"
)

// gauges are the instruments that are read by callbacks.
type gauges struct {
	counts map[Gauge]metric.Int64Observable
	ages   map[Gauge]metric.Float64Observable
}

// Gauge is one of the gauges.
type Gauge int

// The gauges.
const (
	Backlog        Gauge = iota // rows by status
	BacklogOldest               // age of the oldest ready row
	Letters                     // open letters by class
	Outbox                      // rows by status
	OutboxOldest                // age of the oldest ready row
	Line                        // events that wait for a consumer's local handlers
	LineOldest                  // age of the oldest of them
	Stalled                     // 1 while a relay's sink confirms nothing or is away
	AlertsDropped               // alerts that were not sent
	SourceDown                  // 1 while the broker does not serve a topic
	SourceLag                   // messages of a topic that wait at the broker
	Steps                       // steps whose outcome is not known, or needs a person, by state
	LettersOldest               // age of the oldest open letter
	Groups                      // groups with open letters by state
	RedriveJobs                 // redrives by state: running, paused
	RedriveLetters              // letters of them that are not sent yet, by the state of the redrive
	Ready                       // 1 while the consumer is ready
	Paused                      // 1 while a person has paused the consumer
	LastRun                     // when a task of maintenance last ran, by task
)

// labels are the names of the attribute that has a value's Kind.
var labels = map[Gauge]string{Backlog: "headrace.status", Outbox: "headrace.status", Letters: "headrace.class", SourceDown: topicLabel, SourceLag: topicLabel, Steps: "headrace.state",
	Groups: groupState, RedriveJobs: "headrace.state", RedriveLetters: "headrace.state", LastRun: "headrace.task"}

const (
	topicLabel = string(semconv.MessagingDestinationNameKey)
	groupState = "headrace.group.state"
)

func newGauges(m *maker, meter metric.Meter) gauges {
	count, age, total := meter.Int64ObservableGauge, meter.Float64ObservableGauge, meter.Int64ObservableCounter
	return gauges{
		counts: map[Gauge]metric.Int64Observable{
			Backlog:        instrument(m, count, "headrace.backlog.messages", "{message}", "Messages in the backlog by status, up to 3,000 of each."),
			Letters:        instrument(m, count, "headrace.dead_letters.open", "{message}", "Open dead letters by class."),
			Outbox:         instrument(m, count, "headrace.outbox.messages", "{message}", "Events in the outbox by status."),
			Line:           instrument(m, count, "headrace.local.messages", "{message}", "Events that wait for the consumer's local handlers, up to 1,000 of each of 64 shards, ready and held."),
			Stalled:        instrument(m, count, "headrace.relay.stalled", "1", "1 while the sink confirms nothing or its broker is away, or relays with another sink are waited for, otherwise 0."),
			SourceDown:     instrument(m, count, "headrace.source.down", "1", "1 while the broker does not serve the subscription to a topic, otherwise 0."),
			SourceLag:      instrument(m, count, "headrace.source.lag", "{message}", "Messages of a topic that wait at the broker, as it counts them; from every process the same."),
			Steps:          instrument(m, count, "headrace.steps", "{step}", "Steps of leased handlers by state: pending for an hour, parked, skipped; up to 3,000 of each."),
			Groups:         instrument(m, count, "headrace.dead_letter_groups.open", "{group}", "Groups with open dead letters by state."),
			RedriveJobs:    instrument(m, count, "headrace.redrives", "{redrive}", "Redrives that run or are paused."),
			RedriveLetters: instrument(m, count, "headrace.redrive.queued", "{message}", "Letters that redrives have not sent yet, by the state of the redrive."),
			Ready:          instrument(m, count, "headrace.consumer.ready", "1", "1 while this process handles messages, otherwise 0."),
			Paused:         instrument(m, count, "headrace.consumer.paused", "1", "1 while a person has paused the consumer, otherwise 0."),
			AlertsDropped:  instrument(m, total, "headrace.alerts.dropped", "{alert}", "Alerts that were dropped because the hook is too slow."),
		},
		ages: map[Gauge]metric.Float64Observable{
			BacklogOldest: instrument(m, age, "headrace.backlog.oldest.age", "s", "How long the oldest ready row of the backlog has been ready."),
			OutboxOldest:  instrument(m, age, "headrace.outbox.oldest.age", "s", "Age of the oldest event that can be published."),
			LettersOldest: instrument(m, age, "headrace.dead_letters.oldest.age", "s", "Age of the oldest open dead letter; 0 if none is open."),
			LastRun:       instrument(m, age, "headrace.maintenance.last_run", "s", "When a task of maintenance last ran without an error in this process, in seconds since 1970."),
			LineOldest:    instrument(m, age, "headrace.local.oldest.age", "s", "How long the oldest event has waited for the consumer's local handlers."),
		},
	}
}

func (g gauges) all() (list []metric.Observable) {
	for _, count := range g.counts {
		list = append(list, count)
	}
	for _, age := range g.ages {
		list = append(list, age)
	}
	return list
}

// show passes values to a reader.
func (g gauges) show(o metric.Observer, owner attribute.KeyValue, values []Value) {
	for _, v := range values {
		attributes := []attribute.KeyValue{owner}
		if label := labels[v.Gauge]; label != "" {
			attributes = append(attributes, attribute.String(label, v.Kind))
		}
		if age := g.ages[v.Gauge]; age != nil {
			seconds := v.Age.Seconds()
			if !v.At.IsZero() {
				seconds = float64(v.At.UnixMilli()) / 1000
			}
			o.ObserveFloat64(age, seconds, metric.WithAttributes(attributes...))
		} else {
			o.ObserveInt64(g.counts[v.Gauge], v.N, metric.WithAttributes(attributes...))
		}
	}
}

// OfOutbox are the values of the gauges of an outbox.
func OfOutbox(s outbox.Status) []Value {
	return []Value{
		{Gauge: Outbox, Kind: "ready", N: s.Ready},
		{Gauge: Outbox, Kind: "delayed", N: s.Delayed},
		{Gauge: Outbox, Kind: "parked", N: s.Parked},
		{Gauge: Outbox, Kind: "behind", N: s.Behind},
		{Gauge: OutboxOldest, Age: s.Oldest},
	}
}
