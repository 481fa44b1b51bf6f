package telemetry

import (
	"context"
	"sync/atomic"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"

	"github.com/headrace/headrace"
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
	h.t.letters.Add(background, 1, metric.WithAttributes(
		attribute.String("headrace.consumer", h.consumer), attribute.String("headrace.handler", h.name),
		attribute.String("headrace.class", class), semconv.MessagingDestinationName(h.system(d).of.topic)))
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
}
