package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
)

// Sender records the sends of a relay. It is safe for concurrent use; nil records
// nothing.
type Sender struct {
	t      *Telemetry
	relay  string
	topics memo[string, *topic]
}

// topic holds the options for recording one topic.
type topic struct {
	span string
	open []trace.SpanStartOption
	sent []metric.AddOption
}

// maxTopics bounds the recorded topics: a handler may generate their names.
const maxTopics = 256

// Sender returns the Sender of the relay of that name.
func (t *Telemetry) Sender(relay string) *Sender {
	if t == nil {
		return nil
	}
	return &Sender{t: t, relay: relay}
}

// common returns the attributes of every record of a send.
func (s *Sender) common() []attribute.KeyValue {
	return []attribute.KeyValue{
		semconv.MessagingSystemKey.String(systemName("")), semconv.MessagingOperationName("send"),
		semconv.MessagingOperationTypeSend, attribute.String("headrace.relay", s.relay),
	}
}

func (s *Sender) newTopic(name string) *topic {
	own := append(s.common(), semconv.MessagingDestinationName(name))
	return &topic{
		span: "send " + name,
		open: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindProducer), trace.WithAttributes(own...)},
		sent: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(own...))},
	}
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
	return Sending{s: s, topic: s.topics.get(name, maxTopics, other, s.newTopic), n: n, began: time.Now()}
}

// Send begins the send of the next event of the call, as a child of t, and returns the
// context and the trace context of its message: ctx and t if no SDK made a span.
func (c *Sending) Send(ctx context.Context, t headrace.TraceContext) (context.Context, headrace.TraceContext) {
	if c.s == nil || len(c.spans) > 0 && c.spans[0] == nil {
		return ctx, t // the first send of the call found no SDK
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

// End ends the call; class is that of its failure, "" if it did not fail.
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
