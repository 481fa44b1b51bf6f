package telemetry

import (
	"context"

	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
)

// Receipt is the span in which a delivery was received. nil means that no SDK recorded it.
type Receipt struct {
	span trace.Span
	sc   trace.SpanContext
	root bool // the message continues it
}

// Receive begins the span in which d is received, as a child of its trace context. If d has
// none, the span is a child of ctx, and d continues it. The caller calls Taken.
func (h *Handler) Receive(ctx context.Context, d *headrace.Delivery) *Receipt {
	if h == nil || h.t.silent() {
		return nil
	}
	parent, system := under(ctx, d.Trace), h.system(d)
	own, span, ok := h.t.start(parent, system.receive, system.received)
	if !ok {
		return nil
	}
	r := &Receipt{span: span, sc: span.SpanContext()}
	if !spanOf(d.Trace).IsValid() {
		d.Trace, r.root = stored(own), true
	}
	return r
}

// Taken ends the span: the message was identified, or is bad.
func (r *Receipt) Taken(bad bool) {
	if r == nil {
		return
	}
	if bad && r.span.IsRecording() {
		fail(r.span, "undecodable", "", "")
	}
	r.span.End()
	r.span = nil
}

// link is the link from a run to the span of the receive, if that is not its parent.
func (r *Receipt) link() (trace.Link, bool) {
	if r == nil || r.root {
		return trace.Link{}, false
	}
	return trace.Link{SpanContext: r.sc}, true
}
