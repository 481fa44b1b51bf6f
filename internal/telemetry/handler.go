package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
)

// Handler records for one registration. It is safe for concurrent use; nil records
// nothing.
type Handler struct {
	t              *Telemetry
	consumer, name string
	common         []metric.AddOption
	size           []metric.RecordOption
	outcomes       [][]metric.AddOption
	last           atomic.Pointer[system] // of the latest message
	systems        memo[source, *system]
}

// Handler returns the Handler of a consumer's handler. outcomes are the names for the
// numbers passed to Settled and BacklogEnded.
func (t *Telemetry) Handler(consumer, handler string, outcomes []string) *Handler {
	if t == nil {
		return nil
	}
	own := []attribute.KeyValue{attribute.String("headrace.consumer", consumer), attribute.String("headrace.handler", handler)}
	set := metric.WithAttributeSet(attribute.NewSet(own...))
	h := &Handler{t: t, consumer: consumer, name: handler, common: []metric.AddOption{set}, size: []metric.RecordOption{set}}
	for _, outcome := range outcomes {
		labels := attribute.NewSet(append(own[:2:2], attribute.String("headrace.outcome", outcome))...)
		h.outcomes = append(h.outcomes, []metric.AddOption{metric.WithAttributeSet(labels)})
	}
	return h
}

// Begin has its counters begin at 0: those of dead letters for topic, "" if the topics are not
// known. It is called when the consumer starts, since what is counted before there is an SDK
// is lost.
func (h *Handler) Begin(topic string) {
	if h == nil {
		return
	}
	for _, outcome := range h.outcomes {
		h.t.processed.Add(background, 0, outcome...)
		h.t.drained.Add(background, 0, outcome...)
	}
	if topic == "" {
		return
	}
	for _, class := range dlq.Classes() {
		h.t.letters.Add(background, 0, h.letter(string(class), topic))
	}
}

var background = context.Background()

// Delivered counts a delivery when it begins.
func (h *Handler) Delivered(d *headrace.Delivery) {
	if h == nil {
		return
	}
	h.t.consumed.Add(background, 1, h.system(d).consumed...)
	h.t.inFlight.Add(background, 1, h.common...)
}

// Settled counts a delivery that has its outcome.
func (h *Handler) Settled(outcome int) {
	if h == nil {
		return
	}
	h.t.processed.Add(background, 1, h.outcomes[outcome]...)
	h.t.inFlight.Add(background, -1, h.common...)
}

// BacklogEnded counts a backlog row that has its outcome.
func (h *Handler) BacklogEnded(outcome int) {
	if h == nil {
		return
	}
	h.t.drained.Add(background, 1, h.outcomes[outcome]...)
}

// Batch counts the messages whose handlers ran in one transaction.
func (h *Handler) Batch(size int) {
	if h == nil {
		return
	}
	h.t.batchSize.Record(background, int64(size), h.size...)
}

// DeadLettered counts a dead letter of a class.
func (h *Handler) DeadLettered(d *headrace.Delivery, class string) {
	if h == nil {
		return
	}
	h.t.letters.Add(background, 1, h.letter(class, h.system(d).of.topic))
}

// letter are the labels of a dead letter.
func (h *Handler) letter(class, topic string) metric.MeasurementOption {
	return metric.WithAttributes(
		attribute.String("headrace.consumer", h.consumer), attribute.String("headrace.handler", h.name),
		attribute.String("headrace.class", class), semconv.MessagingDestinationName(topic))
}

// Took records how long one run took, for the message d or a batch that begins with d.
// class is that of its failure, "" if it did not fail.
func (h *Handler) Took(d *headrace.Delivery, took time.Duration, class string) {
	if h == nil {
		return
	}
	s := h.system(d)
	o, listed := s.took[class]
	if !listed {
		o = s.took[other]
	}
	h.t.took.Record(background, took.Seconds(), o...)
	h.t.runs.add(took)
}
