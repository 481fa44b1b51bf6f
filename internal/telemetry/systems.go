package telemetry

import (
	"sync"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

// systemName is the conventions' name for a broker. If a source does not name its broker,
// only Watermill is known.
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

// other is the conventions' value for one that is not listed.
const other = "_OTHER"

// Postponed is the error.type of a run whose handler asked to run later.
const Postponed = "postponed"

// classes are the values of error.type of a run that failed.
var classes = []string{Postponed, string(retry.Transient), string(retry.Timeout), string(retry.Panic), string(retry.PermanentFailure), other}

// system holds the options for recording messages of one topic of one broker.
type system struct {
	of               source
	receive, process string // names of spans
	received         []trace.SpanStartOption
	processed        []trace.SpanStartOption
	consumed         []metric.AddOption
	took             map[string][]metric.RecordOption // by class; "" is a success
}

// source is the origin of messages, for labels.
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

// maxSystems bounds the recorded systems. A handler has a topic and a broker, or a few;
// the bound protects against other values in sources and stored rows.
const maxSystems = 16

// system returns the options for recording d.
func (h *Handler) system(d *headrace.Delivery) *system {
	of := source{d.Coordinates.Broker, d.Topic}
	if last := h.last.Load(); last != nil && last.of == of {
		return last
	}
	found := h.systems.get(of, maxSystems, source{other, other}, func(of source) *system { return newSystem(h, of) })
	h.last.Store(found)
	return found
}

// memo keeps one value for each key. It is safe for concurrent use.
type memo[K comparable, V any] struct {
	mu  sync.Mutex
	all map[K]V
}

// get returns the value of key, made once. Keys above the bound share the value of rest.
func (m *memo[K, V]) get(key K, bound int, rest K, create func(K) V) V {
	m.mu.Lock()
	defer m.mu.Unlock()
	if _, known := m.all[key]; !known && len(m.all) >= bound {
		key = rest
	}
	if _, known := m.all[key]; !known {
		if m.all == nil {
			m.all = make(map[K]V)
		}
		m.all[key] = create(key)
	}
	return m.all[key]
}
