package telemetry

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/attribute"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
)

// Results of a run, in addition to the outcomes of its message.
const (
	// Again: it failed, and the message is run again at once.
	Again = "again"
	// Worked: the work of a leased handler is done; its effects are committed separately.
	Worked = "worked"
	// RolledBack: it was undone without a failure of its own, and is run again or given
	// back.
	RolledBack = "rolled_back"
	// NoAnswer: its COMMIT had no answer; the message is claimed again to find the
	// outcome.
	NoAnswer = "commit_without_answer"
)

// Run is the span of one run of a handler. It ends with the outcome, which the commit
// decides. It is safe for concurrent use; nil is not recorded.
type Run struct {
	span trace.Span

	mu    sync.Mutex
	at    time.Time // when the handler returned
	ended bool
}

// Start begins the run of one message, as a child of its trace context. It returns the
// context for the handler and the trace context for its events, the zero one if no SDK
// made the span. first says that it is the first run of a transaction: without an SDK,
// later ones do not try to make a span.
func (h *Handler) Start(ctx context.Context, d *headrace.Delivery, r *Receipt, first bool) (context.Context, headrace.TraceContext, *Run) {
	if h == nil || !first && h.t.silent() {
		return ctx, headrace.TraceContext{}, nil
	}
	system := h.system(d)
	o := system.processed
	if link, ok := r.link(); ok {
		o = with(o, trace.WithLinks(link))
	}
	return h.begin(ctx, under(ctx, d.Trace), system.process, o, attribute.Int("headrace.attempt", d.Attempt))
}

// begin begins the span of a run under parent, for Start and StartBatch.
func (h *Handler) begin(ctx, parent context.Context, name string, o []trace.SpanStartOption, about attribute.KeyValue) (context.Context, headrace.TraceContext, *Run) {
	own, span, ok := h.t.start(parent, name, o)
	switch {
	case !ok:
		return ctx, headrace.TraceContext{}, nil
	case !span.IsRecording():
		span.End()
		return own, stored(own), nil
	}
	span.SetAttributes(about)
	return own, stored(own), &Run{span: span}
}

// StartBatch begins the run of n messages in one call of the handler: a span with its own
// trace and a link to each of them. message returns the nth, and its receipt.
func (h *Handler) StartBatch(ctx context.Context, n int, message func(int) (*headrace.Delivery, *Receipt)) (context.Context, headrace.TraceContext, *Run) {
	if h == nil {
		return ctx, headrace.TraceContext{}, nil
	}
	first, _ := message(0)
	system := h.system(first)
	o := system.processed
	var links []trace.Link
	if !h.t.silent() {
		for i := range n {
			d, r := message(i)
			if sc := spanOf(d.Trace); sc.IsValid() {
				links = append(links, trace.Link{SpanContext: sc})
			}
			if link, ok := r.link(); ok {
				links = append(links, link)
			}
		}
		o = with(o, trace.WithLinks(links...))
	}
	o = with(o, trace.WithNewRoot()) // the span is in no message's trace
	return h.begin(ctx, ctx, system.process, o, semconv.MessagingBatchMessageCount(n))
}

// Returned records the time at which the handler returned.
func (r *Run) Returned() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Now()
}

// Fail records how the run failed: the class of the failure, the error's Go type and its
// fingerprint.
func (r *Run) Fail(class, goType, fingerprint string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		fail(r.span, class, goType, fingerprint)
	}
}

// End ends the span at the time when the handler returned; only the first outcome counts.
func (r *Run) End(outcome string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ended {
		return
	}
	r.ended = true
	r.span.SetAttributes(attribute.String("headrace.outcome", outcome))
	if r.at.IsZero() { // it has not returned
		r.span.End()
		return
	}
	r.span.End(trace.WithTimestamp(r.at))
}
