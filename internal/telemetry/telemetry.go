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

// Scope is the name of the tracer and the meter.
const Scope = "github.com/headrace/headrace"

// Telemetry makes spans and counts. It is safe for concurrent use; nil records
// nothing.
type Telemetry struct {
	tracer trace.Tracer
	meter  metric.Meter
	sdk    atomic.Int32 // what the latest span showed: unknown, absent or present

	consumed  metric.Int64Counter
	processed metric.Int64Counter
	drained   metric.Int64Counter
	letters   metric.Int64Counter
	inFlight  metric.Int64UpDownCounter
	batchSize metric.Int64Histogram
	took      metric.Float64Histogram
	sent      metric.Int64Counter
	sendTook  metric.Float64Histogram
	stepTook  metric.Float64Histogram
	calls     metric.Int64Counter
	replayed  metric.Int64Counter
	memos     metric.Int64Counter
	runs      runs
	upkeep    upkeepCounters
	gauges    gauges
}

// New returns a Telemetry with the providers; nil means the global ones. The error names
// the instrument that the meter could not make.
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
	m := new(maker)
	t.consumed = instrument(m, t.meter.Int64Counter, "messaging.client.consumed.messages", "{message}", "Deliveries that a handler was to be given.")
	t.processed = instrument(m, t.meter.Int64Counter, "headrace.messages.processed", "{message}", "Deliveries by what became of them.")
	t.drained = instrument(m, t.meter.Int64Counter, "headrace.backlog.processed", "{message}", "Runs of backlog rows by what became of the row.")
	t.letters = instrument(m, t.meter.Int64Counter, "headrace.dead_letters.recorded", "{message}", "Dead letters written.")
	t.sent = instrument(m, t.meter.Int64Counter, "messaging.client.sent.messages", "{message}", "Outbox rows given to the sink.")
	t.inFlight = instrument(m, t.meter.Int64UpDownCounter, "headrace.messages.in_flight", "{message}", "Deliveries that have no outcome yet.")
	t.batchSize = instrument(m, t.meter.Int64Histogram, "headrace.batch.size", "{message}", "Messages whose handlers ran in one transaction.", metric.Int64HistogramOption(metric.WithExplicitBucketBoundaries(sizes...)))
	t.took = instrument(m, t.meter.Float64Histogram, "messaging.process.duration", "s", "How long one run of a handler took.", metric.Float64HistogramOption(metric.WithExplicitBucketBoundaries(seconds...)))
	t.sendTook = instrument(m, t.meter.Float64Histogram, "messaging.client.operation.duration", "s", "How long one call of the sink took.", metric.Float64HistogramOption(metric.WithExplicitBucketBoundaries(seconds...)))
	t.stepTook = instrument(m, t.meter.Float64Histogram, "headrace.step.duration", "s", "How long one call of a step took.", metric.Float64HistogramOption(metric.WithExplicitBucketBoundaries(seconds...)))
	t.calls = instrument(m, t.meter.Int64Counter, "headrace.step.calls", "{call}", "Calls that steps made, by what they said of it.")
	t.replayed = instrument(m, t.meter.Int64Counter, "headrace.step.replayed", "{step}", "Steps whose result an earlier run had recorded.")
	t.memos = instrument(m, t.meter.Int64Counter, "headrace.memo", "{step}", "Steps with a Memo: hit (the result of another message), miss (a call), wait (put off while another message makes the call).")
	t.upkeep = newUpkeepCounters(m, t.meter)
	t.gauges = newGauges(m, t.meter)
	if m.err != nil {
		return nil, m.err
	}
	return t, nil
}

// sizes are the bounds of histograms of batches.
var sizes = []float64{1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024}

// seconds are the bounds of histograms of time: those of the conventions and smaller
// ones, since a handler that only writes rows takes less than a millisecond.
var seconds = []float64{0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}

// maker keeps the first error of a meter.
type maker struct{ err error }

// instrument makes an instrument with create.
func instrument[T, O any](m *maker, create func(string, ...O) (T, error), name, unit, says string, o ...O) T {
	o = append(o, any(metric.WithUnit(unit)).(O), any(metric.WithDescription(says)).(O)) // options of every instrument
	i, err := create(name, o...)
	if err == nil && any(i) == nil {
		err = errors.New("the meter returned nil")
	}
	if err != nil && m.err == nil {
		m.err = fmt.Errorf("instrument %s: %w", name, err)
	}
	return i
}
