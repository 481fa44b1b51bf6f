package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
)

// Sender records what a relay sends. It is safe for concurrent use; nil records
// nothing.
type Sender struct {
	t      *Telemetry
	relay  string
	mu     sync.Mutex
	topics map[string]*topic
}

// topic is what is recorded with for one topic.
type topic struct {
	span string
	open []trace.SpanStartOption
	sent []metric.AddOption
}

// maxTopics bounds the topics that are told apart: a handler may make up their names.
const maxTopics = 256

// Sender returns what records for a relay of that name.
func (t *Telemetry) Sender(relay string) *Sender {
	if t == nil {
		return nil
	}
	return &Sender{t: t, relay: relay, topics: make(map[string]*topic)}
}

// common are the attributes of everything that is recorded of a send.
func (s *Sender) common() []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String(systemName("")), semconv.MessagingOperationName("send"),
		semconv.MessagingOperationTypeSend, attribute.String("headrace.relay", s.relay),
	}
}

func (s *Sender) topic(name string) *topic {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.topics[name]; known != nil {
		return known
	}
	if len(s.topics) >= maxTopics {
		name = other
		if known := s.topics[name]; known != nil {
			return known
		}
	}
	own := append(s.common(), semconv.MessagingDestinationName(name))
	made := &topic{
		span: "send " + name,
		open: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(own...)},
		sent: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(own...))},
	}
	s.topics[name] = made
	return made
}

// Sending is a call of the sink under way. The zero value records nothing.
type Sending struct {
	s     *Sender
	topic *topic
	n     int
	began time.Time
	spans []trace.Span // nil without an SDK
}

// Begin begins a call for n events of a topic.
func (s *Sender) Begin(name string, n int) Sending {
	if s == nil {
		return Sending{}
	}
	return Sending{s: s, topic: s.topic(name), n: n, began: time.Now()}
}

// Send begins the send of the next event of the call, as a child of t, and returns the
// context and the trace context of its message: ctx and t where no SDK made a span.
func (c *Sending) Send(ctx context.Context, t headrace.TraceContext) (context.Context, headrace.TraceContext) {
	if c.s == nil || len(c.spans) > 0 && c.spans[0] == nil {
		return ctx, t // the first of the call told that there is no SDK
	}
	o := c.topic.open
	if c.n > 1 && !c.s.t.silent() {
		o = with(o, trace.WithAttributes(semconv.MessagingBatchMessageCount(c.n)))
	}
	own, span, ok := c.s.t.start(under(ctx, t), c.topic.span, o)
	if c.spans = append(c.spans, span); !ok {
		return ctx, t
	}
	return own, stored(own)
}

// End ends the call; class says why it failed, "" if it did not.
func (c *Sending) End(class, goType string) {
	if c.s == nil {
		return
	}
	sent, took := c.topic.sent, c.s.common()
	if class != "" {
		failed := semconv.ErrorTypeKey.String(class)
		sent = append(sent[:1:1], metric.WithAttributes(failed))
		took = append(took, failed)
	}
	c.s.t.sent.Add(background, int64(c.n), sent...)
	c.s.t.sendTook.Record(background, time.Since(c.began).Seconds(), metric.WithAttributes(took...))
	for _, span := range c.spans {
		if span == nil {
			return
		}
		if class != "" && span.IsRecording() {
			fail(span, class, goType, "")
		}
		span.End()
	}
}
