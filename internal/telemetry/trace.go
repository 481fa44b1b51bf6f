package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
)

// What a span says about the tracer that made it.
const (
	unknown int32 = iota
	absent        // no SDK: a span is its parent
	present
)

// silent reports whether the latest span was made by no SDK.
func (t *Telemetry) silent() bool { return t.sdk.Load() == absent }

// start begins a span under ctx, and reports whether an SDK made it. Without one,
// the span that the API gives has the context of its parent, and ctx comes back as it
// was.
func (t *Telemetry) start(ctx context.Context, name string, o []trace.SpanStartOption) (context.Context, trace.Span, bool) {
	parent := trace.SpanContextFromContext(ctx)
	under, span := t.tracer.Start(ctx, name, o...)
	if own := span.SpanContext(); !own.IsValid() || own.SpanID() == parent.SpanID() {
		t.sdk.Store(absent)
		return ctx, nil, false
	}
	t.sdk.Store(present)
	return under, span, true
}

// with appends an option to options that are shared.
func with(shared []trace.SpanStartOption, more trace.SpanStartOption) []trace.SpanStartOption {
	return append(shared[:len(shared):len(shared)], more)
}

// carrier is a trace context as a propagator sees it.
type carrier struct{ t *headrace.TraceContext }

var w3c propagation.TraceContext

// Get implements propagation.TextMapCarrier.
func (c carrier) Get(name string) string {
	switch name {
	case headrace.TraceParentHeader:
		return c.t.Parent
	case headrace.TraceStateHeader:
		return c.t.State
	}
	return ""
}

// Set implements propagation.TextMapCarrier.
func (c carrier) Set(name, value string) {
	switch name {
	case headrace.TraceParentHeader:
		c.t.Parent = value
	case headrace.TraceStateHeader:
		c.t.State = value
	}
}

// Keys implements propagation.TextMapCarrier.
func (c carrier) Keys() []string {
	return []string{headrace.TraceParentHeader, headrace.TraceStateHeader}
}

// under returns a context whose span is the stored one; ctx where there is none.
func under(ctx context.Context, t headrace.TraceContext) context.Context {
	if t.Parent == "" {
		return ctx
	}
	return w3c.Extract(ctx, carrier{&t})
}

// spanOf returns the stored span; it is not valid where there is none.
func spanOf(t headrace.TraceContext) trace.SpanContext {
	return trace.SpanContextFromContext(under(context.Background(), t))
}

// stored returns the trace context of the span that ctx holds, as rows keep it: what
// is too long for them goes.
func stored(ctx context.Context) (t headrace.TraceContext) {
	w3c.Inject(ctx, carrier{&t})
	return headrace.TraceFrom(map[string]string{headrace.TraceParentHeader: t.Parent, headrace.TraceStateHeader: t.State})
}

// fail marks a span as failed, without words.
func fail(span trace.Span, class, goType, print string) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(semconv.ErrorTypeKey.String(class), attribute.String("headrace.error.go_type", goType))
	if print != "" {
		span.SetAttributes(attribute.String("headrace.error.print", print))
	}
}
