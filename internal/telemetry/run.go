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

// What became of a run, beside the outcomes of its message.
const (
	// Again: it failed, and the message is run again at once.
	Again = "again"
	// Worked: the work of a leased handler is done; what it returned is committed apart.
	Worked = "worked"
	// RolledBack: it was undone by no failure of its own, and is run again or given back.
	RolledBack = "rolled_back"
	// NoAnswer: its COMMIT had no answer; the message is claimed again to find out.
	NoAnswer = "commit_without_answer"
)

// Run is the span of one run of a handler. It begins with the run and tells what
// became of it, which the commit decides. It is safe for concurrent use; nil is
// not recorded.
type Run struct {
	span trace.Span

	mu    sync.Mutex
	at    time.Time // when the handler returned
	ended bool
}

// Start begins the run of one message, as a child of its trace context, and returns
// the context for the handler and the trace context for what it publishes: the zero
// one where no SDK made the span. first says that it is the first run of a
// transaction: without an SDK, the others are not even tried.
func (h *Handler) Start(ctx context.Context, d *headrace.Delivery, r *Receipt, first bool) (context.Context, headrace.TraceContext, *Run) {
	if h == nil || !first && h.t.silent() {
		return ctx, headrace.TraceContext{}, nil
	}
	system := h.system(d)
	o := system.processed
	if link, ok := r.link(); ok {
		o = with(o, trace.WithLinks(link))
	}
	own, span, ok := h.t.start(under(ctx, d.Trace), system.process, o)
	if !ok {
		return ctx, headrace.TraceContext{}, nil
	}
	run := newRun(span)
	if run != nil {
		span.SetAttributes(attribute.Int("headrace.attempt", d.Attempt))
	}
	return own, stored(own), run
}

// StartBatch begins the run of n messages in one call of the handler: a span of its
// own trace with a link to each of them. message returns the nth, and its receipt.
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
	// Which of the messages' traces should it be in? None.
	own, span, ok := h.t.start(ctx, system.process, append(o[:len(o):len(o)], trace.WithNewRoot()))
	if !ok {
		return ctx, headrace.TraceContext{}, nil
	}
	run := newRun(span)
	if run != nil {
		span.SetAttributes(semconv.MessagingBatchMessageCount(n))
	}
	return own, stored(own), run
}

func newRun(span trace.Span) *Run {
	if !span.IsRecording() {
		span.End()
		return nil
	}
	return &Run{span: span}
}

// Returned says that the handler returned just now.
func (r *Run) Returned() {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.at = time.Now()
}

// Fail says how the run failed: the class of the failure, the error's Go type and its
// print.
func (r *Run) Fail(class, goType, print string) {
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.ended {
		fail(r.span, class, goType, print)
	}
}

// End ends the span as of when the handler returned; the first outcome counts.
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
