package telemetry

import (
	"context"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"
)

// Step begins a call that a step makes, as a child of ctx's span. The function that it
// returns ends it: outcome is what the call's error says of it, failed that it has one.
// name is the step's name without its item.
func (h *Handler) Step(ctx context.Context, system, name string) (context.Context, func(outcome string, failed bool)) {
	if h == nil {
		return ctx, func(string, bool) {}
	}
	began, labels := time.Now(), h.step(system, name)
	ctx, span, ok := h.t.start(ctx, "step "+name, []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindClient), trace.WithAttributes(labels...)})
	return ctx, func(outcome string, failed bool) {
		said := attribute.String("headrace.outcome", outcome)
		all := metric.WithAttributes(append(labels, said)...)
		h.t.stepTook.Record(background, time.Since(began).Seconds(), all)
		h.t.calls.Add(background, 1, all)
		if !ok {
			return
		}
		if span.SetAttributes(said); failed {
			span.SetStatus(codes.Error, "")
		}
		span.End()
	}
}

// StepReplayed counts a step whose result was recorded by an earlier run.
func (h *Handler) StepReplayed(system, name string) {
	if h != nil {
		h.t.replayed.Add(background, 1, metric.WithAttributes(h.step(system, name)...))
	}
}

// Memo counts what a step with a Memo found: hit, miss or wait.
func (h *Handler) Memo(system, name, found string) {
	if h != nil {
		h.t.memos.Add(background, 1, metric.WithAttributes(append(h.step(system, name), attribute.String("headrace.outcome", found))...))
	}
}

// step are the labels of a step.
func (h *Handler) step(system, name string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("headrace.consumer", h.consumer), attribute.String("headrace.handler", h.name),
		attribute.String("headrace.system", system), attribute.String("headrace.step", name),
	}
}
