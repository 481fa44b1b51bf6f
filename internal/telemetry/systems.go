package telemetry

import (
	"sync"
	"sync/atomic"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

// systemName is the conventions' name for a broker. Where a source does not say what
// it is, all that is known is that Watermill stands before it.
func systemName(broker string) string {
	switch broker {
	case "":
		return "watermill"
	case "amqp":
		return semconv.MessagingSystemRabbitMQ.Value.AsString()
	case "sqs":
		return semconv.MessagingSystemAWSSQS.Value.AsString()
	}
	return broker
}

// other stands for what is not listed, by the conventions.
const other = "_OTHER"

// classes are the values of error.type of a run that failed.
var classes = []string{string(retry.Transient), string(retry.Timeout), string(retry.Panic), string(retry.PermanentFailure), other}

// system is what a handler records with for the messages of one topic of one broker.
type system struct {
	of               source
	receive, process string // names of spans
	received         []trace.SpanStartOption
	processed        []trace.SpanStartOption
	consumed         []metric.AddOption
	took             map[string][]metric.RecordOption // by class; "" is a success
}

// source is where messages come from, as far as labels tell.
type source struct{ broker, topic string }

func newSystem(h *Handler, of source) *system {
	common := []attribute.KeyValue{
		semconv.MessagingSystemKey.String(systemName(of.broker)),
		semconv.MessagingDestinationName(of.topic),
		semconv.MessagingConsumerGroupName(h.consumer),
		attribute.String("headrace.handler", h.name),
	}
	received := append(common[:4:4], semconv.MessagingOperationName("receive"))
	processed := append(common[:4:4], semconv.MessagingOperationName("process"))
	s := &system{
		of: of, receive: "receive " + of.topic, process: "process " + of.topic,
		received: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient),
			trace.WithAttributes(append(received, semconv.MessagingOperationTypeReceive)...)},
		processed: []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer),
			trace.WithAttributes(append(processed, semconv.MessagingOperationTypeProcess)...)},
		consumed: []metric.AddOption{metric.WithAttributeSet(attribute.NewSet(received...))},
		took:     map[string][]metric.RecordOption{"": {metric.WithAttributeSet(attribute.NewSet(processed...))}},
	}
	for _, class := range classes {
		failed := append(processed[:5:5], semconv.ErrorTypeKey.String(class))
		s.took[class] = []metric.RecordOption{metric.WithAttributeSet(attribute.NewSet(failed...))}
	}
	return s
}

// maxSystems bounds what is told apart: a handler has a topic and a broker, or a few,
// but a label must stay bounded whatever sources and stored rows say.
const maxSystems = 16

// systems are the systems that a handler has met.
type systems struct {
	last atomic.Pointer[system]
	mu   sync.Mutex
	all  map[source]*system
}

// system returns what to record with for d.
func (h *Handler) system(d *headrace.Delivery) *system {
	s, of := &h.systems, source{d.Coordinates.Broker, d.Topic}
	if last := s.last.Load(); last != nil && last.of == of {
		return last
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	found := s.all[of]
	if found == nil && len(s.all) >= maxSystems {
		of = source{other, other}
		found = s.all[of]
	}
	if found == nil {
		found = newSystem(h, of)
		s.all[of] = found
	}
	s.last.Store(found)
	return found
}
