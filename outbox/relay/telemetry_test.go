package relay_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"go.opentelemetry.io/otel/codes"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
)

func traceOf(n int) headrace.TraceContext {
	return headrace.TraceContext{Parent: fmt.Sprintf("00-%032x-%016x-01", n, n)}
}

// Events that are published in one call keep their traces apart, an event's own
// traceparent is left as it is, and a refusal is told without the sink's words.
func TestEachEventIsSentInItsTrace(t *testing.T) {
	onEach(t, func(b *bundle) {
		spans := tracetest.NewSpanRecorder()
		o := b.options()
		o.TracerProvider = sdktrace.NewTracerProvider(sdktrace.WithSpanProcessor(spans))
		refused := false
		b.sink.refuse = func(_, id string) error {
			if id == "5" && !refused {
				refused = true
				return errors.New("secret words")
			}
			return nil
		}
		const n = 20
		var events []headrace.Event
		for i := 1; i <= n; i++ {
			e := event("orders", "", fmt.Sprint(i))
			e.Trace = traceOf(i)
			if i == 7 {
				e.Metadata = map[string]string{"traceparent": traceOf(100).Parent}
			}
			events = append(events, e)
		}
		b.publish(events...)
		_, stop := b.relay(b.st, o)
		b.untilEmpty()
		stop()

		names := make(map[string]bool) // traceparents that a published message may have
		failed := 0
		for _, s := range spans.Ended() {
			sc := s.SpanContext()
			names[fmt.Sprintf("00-%s-%s-01", sc.TraceID(), sc.SpanID())] = true
			if want := s.Parent().SpanID().String(); !strings.HasSuffix(sc.TraceID().String(), want) {
				b.Errorf("the span %s has the parent %s", sc.TraceID(), want)
			}
			if s.Status().Code == codes.Error {
				failed++
			}
			if text := fmt.Sprint(s.Status(), s.Attributes(), s.Events()); strings.Contains(text, "secret") {
				b.Errorf("the sink's words: %s", text)
			}
		}
		if failed == 0 {
			b.Error("no span of the refusal")
		}
		b.sentIn(names)
		if text := fmt.Sprint(names); !strings.Contains(text, traceOf(100).Parent[:36]) || strings.Contains(text, traceOf(7).Parent[:36]) {
			b.Errorf("the send of the event with its own traceparent is in another trace: %s", text)
		}
	})
}

// sentIn checks that each message names a span of its event's trace, one of names.
func (b *bundle) sentIn(names map[string]bool) {
	b.Helper()
	for _, p := range b.sink.all() {
		parent := p.metadata["traceparent"]
		if p.id == "7" {
			if parent != traceOf(100).Parent {
				b.Errorf("the event's own traceparent became %s", parent)
			}
			continue
		}
		var i int
		_, _ = fmt.Sscan(p.id, &i)
		if !names[parent] || !strings.HasPrefix(parent, traceOf(i).Parent[:36]) {
			b.Errorf("event %s was published with %s", p.id, parent)
		}
		if own := trace.SpanContextFromContext(p.ctx); own.SpanID().String() != parent[36:52] {
			b.Errorf("event %s: the message's context has the span %s", p.id, own.SpanID())
		}
	}
}
