package telemetry

import (
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
)

// gauges are the instruments that are read, not recorded with.
type gauges struct {
	backlog, letters, outbox, stalled metric.Int64ObservableGauge
	backlogOldest, outboxOldest       metric.Float64ObservableGauge
	dropped                           metric.Int64ObservableCounter
}

// Gauge is one of them.
type Gauge int

// The gauges.
const (
	Backlog       Gauge = iota // rows by line
	BacklogOldest              // age of the oldest ready row
	Letters                    // open letters by class
	Outbox                     // rows by line
	OutboxOldest               // age of the oldest ready row
	Stalled                    // 1 while a relay's sink confirms nothing
	AlertsDropped              // alerts that no hook was given
)

func (m *maker) gauges() gauges {
	return gauges{
		backlog:       m.count("headrace.backlog.messages", "{message}", "Messages in the backlog by line."),
		backlogOldest: m.age("headrace.backlog.oldest.age", "How long the oldest ready row of the backlog has been ready."),
		letters:       m.count("headrace.dead_letters.open", "{message}", "Dead letters that nobody has decided on, by class."),
		outbox:        m.count("headrace.outbox.messages", "{message}", "Events in the outbox by line."),
		outboxOldest:  m.age("headrace.outbox.oldest.age", "Age of the oldest event that can be published."),
		stalled:       m.count("headrace.relay.stalled", "1", "1 while the sink confirms nothing, otherwise 0."),
		dropped:       m.total("headrace.alerts.dropped", "{alert}", "Alerts that were dropped because the hook is too slow."),
	}
}

func (m *maker) count(name, unit, says string) metric.Int64ObservableGauge {
	i, err := m.meter.Int64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(says))
	return made(m, name, i, err)
}

func (m *maker) age(name, says string) metric.Float64ObservableGauge {
	i, err := m.meter.Float64ObservableGauge(name, metric.WithUnit("s"), metric.WithDescription(says))
	return made(m, name, i, err)
}

func (m *maker) total(name, unit, says string) metric.Int64ObservableCounter {
	i, err := m.meter.Int64ObservableCounter(name, metric.WithUnit(unit), metric.WithDescription(says))
	return made(m, name, i, err)
}

func (g gauges) all() []metric.Observable {
	return []metric.Observable{g.backlog, g.backlogOldest, g.letters, g.outbox, g.outboxOldest, g.stalled, g.dropped}
}

// show hands values to a reader.
func (g gauges) show(o metric.Observer, owner attribute.KeyValue, values []Value) {
	for _, v := range values {
		own := metric.WithAttributes(owner)
		switch v.Gauge {
		case Backlog:
			o.ObserveInt64(g.backlog, v.N, own, metric.WithAttributes(attribute.String("headrace.line", v.Kind)))
		case Letters:
			o.ObserveInt64(g.letters, v.N, own, metric.WithAttributes(attribute.String("headrace.class", v.Kind)))
		case Outbox:
			o.ObserveInt64(g.outbox, v.N, own, metric.WithAttributes(attribute.String("headrace.line", v.Kind)))
		case BacklogOldest:
			o.ObserveFloat64(g.backlogOldest, v.Age.Seconds(), own)
		case OutboxOldest:
			o.ObserveFloat64(g.outboxOldest, v.Age.Seconds(), own)
		case Stalled:
			o.ObserveInt64(g.stalled, v.N, own)
		case AlertsDropped:
			o.ObserveInt64(g.dropped, v.N, own)
		}
	}
}
