package consumer_test

import (
	"context"
	"slices"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace/consumer"
)

// observed is a bundle whose consumers record with an SDK in memory.
type observed struct {
	*bundle
	spans  *tracetest.SpanRecorder
	reader *metric.ManualReader
	sink   *kept
}

func observe(b *bundle) *observed {
	return &observed{bundle: b, spans: tracetest.NewSpanRecorder(), reader: metric.NewManualReader(), sink: &kept{}}
}

// config is that of the bundle with the SDK and a sink.
func (o *observed) config() consumer.Config {
	c := o.bundle.config()
	c.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(o.spans))
	c.MeterProvider = metric.NewMeterProvider(metric.WithReader(o.reader))
	c.Sink = o.sink
	return c
}

// named returns the ended spans of a name, in the order of their start.
func (o *observed) named(name string) (list []sdktrace.ReadOnlySpan) {
	for _, s := range o.spans.Ended() {
		if s.Name() == name {
			list = append(list, s)
		}
	}
	slices.SortStableFunc(list, func(a, b sdktrace.ReadOnlySpan) int { return a.StartTime().Compare(b.StartTime()) })
	return list
}

// one waits for the only span of a name.
func (o *observed) one(name string) sdktrace.ReadOnlySpan {
	o.Helper()
	return o.some(name, 1)[0]
}

// some waits for n spans of a name; there must not be more.
func (o *observed) some(name string, n int) []sdktrace.ReadOnlySpan {
	o.Helper()
	o.eventually("spans "+name, func() bool { return len(o.named(name)) >= n })
	list := o.named(name)
	if len(list) != n {
		o.Fatalf("%d spans %s, want %d", len(list), name, n)
	}
	return list
}

// value returns an attribute of a span as text; "" if it has none of that name.
func value(s sdktrace.ReadOnlySpan, key string) string {
	for _, kv := range s.Attributes() {
		if string(kv.Key) == key {
			return kv.Value.String()
		}
	}
	return ""
}

func (o *observed) child(s sdktrace.ReadOnlySpan, of trace.SpanContext) {
	o.Helper()
	if s.SpanContext().TraceID() != of.TraceID() || s.Parent().SpanID() != of.SpanID() {
		o.Errorf("%s (trace %s) has the parent %s, want %s of trace %s",
			s.Name(), s.SpanContext().TraceID(), s.Parent().SpanID(), of.SpanID(), of.TraceID())
	}
}

func (o *observed) linked(s sdktrace.ReadOnlySpan, to ...trace.SpanContext) {
	o.Helper()
	got := make([]string, 0, len(s.Links()))
	for _, l := range s.Links() {
		got = append(got, l.SpanContext.TraceID().String()+l.SpanContext.SpanID().String())
	}
	want := make([]string, 0, len(to))
	for _, sc := range to {
		want = append(want, sc.TraceID().String()+sc.SpanID().String())
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) {
		o.Errorf("%s has the links %v, want %v", s.Name(), got, want)
	}
}

// point is a series of a sum or gauge at one moment.
type point struct {
	attrs attribute.Set
	value int64
}

// collect reads all metrics.
func (o *observed) collect() map[string]metricdata.Aggregation {
	o.Helper()
	var rm metricdata.ResourceMetrics
	if err := o.reader.Collect(context.Background(), &rm); err != nil {
		o.Fatal(err)
	}
	all := make(map[string]metricdata.Aggregation)
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			all[m.Name] = m.Data
		}
	}
	return all
}

// sum adds up the series of a metric that have the attributes, given as key and value.
func (o *observed) sum(name string, attrs ...string) (total int64) {
	o.Helper()
	for _, p := range points(o.collect()[name]) {
		fits := true
		for i := 0; i < len(attrs); i += 2 {
			v, ok := p.attrs.Value(attribute.Key(attrs[i]))
			fits = fits && ok && v.String() == attrs[i+1]
		}
		if fits {
			total += p.value
		}
	}
	return total
}

func points(a metricdata.Aggregation) (list []point) {
	switch a := a.(type) {
	case metricdata.Sum[int64]:
		for _, p := range a.DataPoints {
			list = append(list, point{p.Attributes, p.Value})
		}
	case metricdata.Gauge[int64]:
		for _, p := range a.DataPoints {
			list = append(list, point{p.Attributes, p.Value})
		}
	case metricdata.Gauge[float64]:
		for _, p := range a.DataPoints {
			list = append(list, point{p.Attributes, int64(p.Value)})
		}
	case metricdata.Histogram[float64]:
		for _, p := range a.DataPoints {
			list = append(list, point{p.Attributes, int64(p.Count)})
		}
	case metricdata.Histogram[int64]:
		for _, p := range a.DataPoints {
			list = append(list, point{p.Attributes, p.Sum})
		}
	}
	return list
}

// kept is a sink that keeps what it is given.
type kept struct {
	mu       sync.Mutex
	messages []*message.Message
	topics   []string
}

func (p *kept) Publish(topic string, ms ...*message.Message) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, m := range ms {
		p.messages, p.topics = append(p.messages, m), append(p.topics, topic)
	}
	return nil
}

func (p *kept) Close() error { return nil }

// of returns what was published to topic.
func (p *kept) of(topic string) (list []*message.Message) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for i, m := range p.messages {
		if p.topics[i] == topic {
			list = append(list, m)
		}
	}
	return list
}
