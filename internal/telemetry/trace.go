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

// What a span shows about the tracer that made it.
const (
	unknown int32 = iota
	absent        // no SDK: a span is its parent
	present
)

// silent reports whether the latest span came without an SDK.
func (t *Telemetry) silent() bool { return t.sdk.Load() == absent }

// start begins a span under ctx, and reports whether an SDK made it. Without one, the
// API's span has its parent's context, and start returns ctx unchanged.
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

var w3c propagation.TraceContext

// under returns a context whose span is the stored one; ctx if there is none.
func under(ctx context.Context, t headrace.TraceContext) context.Context {
	if t.Parent == "" {
		return ctx
	}
	return w3c.Extract(ctx, propagation.MapCarrier{headrace.TraceParentHeader: t.Parent, headrace.TraceStateHeader: t.State})
}

// spanOf returns the stored span; it is not valid if there is none.
func spanOf(t headrace.TraceContext) trace.SpanContext {
	return trace.SpanContextFromContext(under(context.Background(), t))
}

// stored returns the trace context of ctx's span in the form for rows: without the parts
// that are too long for them.
func stored(ctx context.Context) headrace.TraceContext {
	headers := make(propagation.MapCarrier)
	w3c.Inject(ctx, headers)
	return headrace.TraceFrom(headers)
}

// fail marks a span as failed, without the error's text.
func fail(span trace.Span, class, goType, fingerprint string) {
	span.SetStatus(codes.Error, "")
	span.SetAttributes(semconv.ErrorTypeKey.String(class), attribute.String("headrace.error.go_type", goType))
	if fingerprint != "" {
		span.SetAttributes(attribute.String("headrace.error.fingerprint", fingerprint))
	}
}
