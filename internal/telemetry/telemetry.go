package telemetry

import (
	"errors"
	"fmt"
	"sync/atomic"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"
)

// Scope is the name under which everything is recorded.
const Scope = "github.com/headrace/headrace"

// Telemetry makes spans and counts. It is safe for concurrent use; nil records
// nothing.
type Telemetry struct {
	tracer trace.Tracer
	meter  metric.Meter
	sdk    atomic.Int32 // what the latest span said: unknown, absent or present

	consumed  metric.Int64Counter
	processed metric.Int64Counter
	drained   metric.Int64Counter
	letters   metric.Int64Counter
	inFlight  metric.Int64UpDownCounter
	groupSize metric.Int64Histogram
	took      metric.Float64Histogram
	sent      metric.Int64Counter
	sendTook  metric.Float64Histogram
	gauges    gauges
}

// New returns what records with the providers; nil means the global ones. The error
// names the instrument that the meter does not make.
func New(tp trace.TracerProvider, mp metric.MeterProvider) (*Telemetry, error) {
	if tp == nil {
		tp = otel.GetTracerProvider()
	}
	if mp == nil {
		mp = otel.GetMeterProvider()
	}
	t := &Telemetry{
		tracer: tp.Tracer(Scope, trace.WithSchemaURL(semconv.SchemaURL)),
		meter:  mp.Meter(Scope, metric.WithSchemaURL(semconv.SchemaURL)),
	}
	m := &maker{meter: t.meter}
	t.consumed = m.counter("messaging.client.consumed.messages", "{message}", "Deliveries that a handler was to be given.")
	t.processed = m.counter("headrace.messages.processed", "{message}", "Deliveries by what became of them.")
	t.drained = m.counter("headrace.backlog.processed", "{message}", "Runs of backlog rows by what became of the row.")
	t.letters = m.counter("headrace.dead_letters.recorded", "{message}", "Dead letters written.")
	t.sent = m.counter("messaging.client.sent.messages", "{message}", "Outbox rows given to the sink.")
	t.inFlight = m.upDown("headrace.messages.in_flight", "{message}", "Deliveries that have no outcome yet.")
	t.groupSize = m.sizes("headrace.group.size", "{message}", "Messages whose handlers ran in one transaction.")
	t.took = m.seconds("messaging.process.duration", "How long one run of a handler took.")
	t.sendTook = m.seconds("messaging.client.operation.duration", "How long one call of the sink took.")
	t.gauges = m.gauges()
	if m.err != nil {
		return nil, m.err
	}
	return t, nil
}

// seconds are the bounds of histograms of time: those of the conventions, and below
// them, since a handler that only writes rows takes less than a millisecond.
var seconds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

// maker makes instruments and remembers what went wrong.
type maker struct {
	meter metric.Meter
	err   error
}

// made keeps an instrument, or says which one there is not.
func made[T any](m *maker, name string, instrument T, err error) T {
	if err == nil && any(instrument) == nil {
		err = errors.New("the meter returned nil")
	}
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("instrument %s: %w", name, err)
	}
	return instrument
}

func (m *maker) counter(name, unit, says string) metric.Int64Counter {
	i, err := m.meter.Int64Counter(name, metric.WithUnit(unit), metric.WithDescription(says))
	return made(m, name, i, err)
}

func (m *maker) upDown(name, unit, says string) metric.Int64UpDownCounter {
	i, err := m.meter.Int64UpDownCounter(name, metric.WithUnit(unit), metric.WithDescription(says))
	return made(m, name, i, err)
}

func (m *maker) sizes(name, unit, says string) metric.Int64Histogram {
	i, err := m.meter.Int64Histogram(name, metric.WithUnit(unit), metric.WithDescription(says),
		metric.WithExplicitBucketBoundaries(1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024))
	return made(m, name, i, err)
}

func (m *maker) seconds(name, says string) metric.Float64Histogram {
	i, err := m.meter.Float64Histogram(name, metric.WithUnit("s"), metric.WithDescription(says),
		metric.WithExplicitBucketBoundaries(seconds...))
	return made(m, name, i, err)
}
