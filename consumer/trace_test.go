package consumer_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/retry"
)

// sender is the span of one who sent a message, with the headers that tell of it.
func sender(n byte) (trace.SpanContext, map[string]string) {
	sc := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{1, n}, SpanID: trace.SpanID{2, n}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	headers := make(propagation.MapCarrier)
	propagation.TraceContext{}.Inject(trace.ContextWithSpanContext(context.Background(), sc), headers)
	return sc, headers
}

// parentIn returns the span that a message names.
func parentIn(m *message.Message) trace.SpanContext {
	ctx := propagation.TraceContext{}.Extract(context.Background(), propagation.MapCarrier(m.Metadata))
	return trace.SpanContextFromContext(ctx)
}

// One message fails, waits in the backlog, succeeds there, and publishes an event: all
// of it is one trace by what the rows keep.
//
//evidence:trace
func TestOneTraceThroughBacklogAndOutbox(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		config := o.config()
		config.Retry = retry.Policy{MaxAttempts: 5, Immediate: 1, Backoff: quick.Backoff}
		c := o.consumer(config)
		var seen runs
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if n := seen.next(m.ID); n <= 2 {
				return fmt.Errorf("try %d: %w", n, errBoom)
			}
			return tx.Publish(headrace.Event{Topic: "invoices", Value: m.Body})
		})
		b.start(c)
		origin, headers := sender(1)
		b.acked(b.src.Deliver(topic, "a", []byte(`{"n": 1}`), headers))
		send := o.one("send invoices")

		receive, runs := o.one("receive "+topic), o.some("process "+topic, 3)
		o.child(receive, origin)
		for i, want := range []string{"waiting", "waiting", "applied"} {
			run := runs[i]
			o.child(run, origin)
			if got := value(run, "headrace.outcome"); got != want {
				o.Errorf("run %d: outcome %q, want %q", i+1, got, want)
			}
			if got := value(run, "headrace.attempt"); got != fmt.Sprint(i+1) {
				o.Errorf("run %d: attempt %q", i+1, got)
			}
		}
		o.linked(runs[0], receive.SpanContext())
		o.linked(runs[1]) // from the backlog: another process might have it, so there is no receive
		o.linked(runs[2])
		o.child(send, runs[2].SpanContext())
		o.kinds(receive, runs[2], send)

		o.eventually("published", func() bool { return len(o.sink.of("invoices")) == 1 })
		if got := parentIn(o.sink.of("invoices")[0]); got.TraceID() != origin.TraceID() || got.SpanID() != send.SpanContext().SpanID() {
			o.Errorf("the message names %v, want the send %v", got, send.SpanContext())
		}
	})
}

func (o *observed) kinds(receive, process, send sdktrace.ReadOnlySpan) {
	o.Helper()
	for _, s := range []struct {
		span sdktrace.ReadOnlySpan
		kind trace.SpanKind
		op   string
	}{{receive, trace.SpanKindClient, "receive"}, {process, trace.SpanKindConsumer, "process"}, {send, trace.SpanKindProducer, "send"}} {
		if s.span.SpanKind() != s.kind || value(s.span, "messaging.operation.type") != s.op || value(s.span, "messaging.operation.name") != s.op {
			o.Errorf("%s: kind %s, attributes %v", s.span.Name(), s.span.SpanKind(), s.span.Attributes())
		}
		if value(s.span, "messaging.system") != "watermill" || value(s.span, "messaging.destination.name") == "" {
			o.Errorf("%s: attributes %v", s.span.Name(), s.span.Attributes())
		}
	}
	if got := value(process, "messaging.consumer.group.name"); got != "test" {
		o.Errorf("consumer group %q", got)
	}
}

// A message without a trace begins one where it is received, and keeps it in the
// letter: its redrive goes on in the same trace.
//
//evidence:trace
func TestRedriveGoesOnInTheTrace(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		c := o.consumer(o.config())
		var seen runs
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if seen.next(m.ID) == 1 {
				return retry.Permanent(errBoom)
			}
			return tx.Publish(headrace.Event{Topic: "invoices", Value: m.Body})
		})
		b.start(c)
		b.acked(b.deliver("a", `{"n": 1}`))
		receive := o.one("receive " + topic)
		dead := o.one("process " + topic)
		o.child(dead, receive.SpanContext())
		o.linked(dead) // the receive is its parent
		if value(dead, "headrace.outcome") != "dead" || value(dead, "error.type") != "permanent" {
			o.Errorf("attributes %v", dead.Attributes())
		}
		o.child(o.one("send "+topic+".dead"), receive.SpanContext())

		if _, err := redrive.New(b.st).Redrive(b.Context(), redrive.Request{All: true, By: "test"}); err != nil {
			b.Fatal(err)
		}
		send := o.one("send invoices")
		runs := o.some("process "+topic, 2)
		o.child(runs[1], receive.SpanContext())
		o.child(send, runs[1].SpanContext())
	})
}

// Handlers that share a transaction do not share a trace.
func TestGroupDoesNotMixTraces(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		c := o.consumer(o.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if own := trace.SpanContextFromContext(ctx); own.TraceID() != (trace.TraceID{1, byte(m.Body.N)}) {
				return retry.Permanent(fmt.Errorf("handler %d is in trace %s", m.Body.N, own.TraceID()))
			}
			return tx.Publish(headrace.Event{ID: m.ID, Topic: "invoices", Value: m.Body})
		})
		const n = 64
		messages := make([]*message.Message, n)
		for i := range n {
			_, headers := sender(byte(i + 1))
			messages[i] = b.src.Deliver(topic, fmt.Sprint(i+1), fmt.Appendf(nil, `{"n": %d}`, i+1), headers)
		}
		b.start(c)
		b.acked(messages...)
		sends := o.some("send invoices", n)
		if largest := o.sum("headrace.batch.size"); largest != n {
			o.Errorf("%d messages in groups, want %d", largest, n)
		}
		o.eventually("published", func() bool { return len(o.sink.of("invoices")) == n })
		for _, m := range o.sink.of("invoices") {
			var i byte
			_, _ = fmt.Sscan(m.UUID, &i)
			if got := parentIn(m).TraceID(); got != (trace.TraceID{1, i}) {
				o.Errorf("event of message %d is in trace %s", i, got)
			}
		}
		ids := make(map[trace.SpanID]bool)
		for _, s := range sends {
			ids[s.SpanContext().SpanID()] = true
		}
		if len(ids) != n {
			o.Errorf("%d sends", len(ids))
		}
	})
}

// The run of a batch belongs to none of its messages' traces, and has a link to each.
func TestBatchIsLinked(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		config := o.config()
		config.Concurrency = 1
		c := o.consumer(config)
		consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "invoices", Value: len(ms)})
		})
		const n = 3
		messages := make([]*message.Message, n)
		origins := make(map[trace.TraceID]bool)
		for i := range n {
			origin, headers := sender(byte(i + 1))
			origins[origin.TraceID()] = true
			messages[i] = b.src.Deliver(topic, fmt.Sprint(i+1), []byte(`{"n": 1}`), headers)
		}
		b.start(c)
		b.acked(messages...)
		o.eventually("published", func() bool { return len(o.sink.of("invoices")) == len(o.named("process "+topic)) })
		links := 0
		for _, run := range o.named("process " + topic) {
			if origins[run.SpanContext().TraceID()] || run.Parent().IsValid() {
				o.Errorf("the run is in trace %s", run.SpanContext().TraceID())
			}
			links += len(run.Links())
			if got := value(run, "messaging.batch.message_count"); got != fmt.Sprint(len(run.Links())/2) {
				o.Errorf("%s messages, %d links", got, len(run.Links()))
			}
		}
		if links != 2*n { // to the sender and to the receive
			o.Errorf("%d links, want %d", links, 2*n)
		}
		for _, m := range o.sink.of("invoices") {
			if origins[parentIn(m).TraceID()] || !parentIn(m).IsValid() {
				o.Errorf("an event of the batch is in trace %s", parentIn(m).TraceID())
			}
		}
	})
}

// A process without an SDK passes the trace on in what it stores: the retry, in another
// process and perhaps hours later, goes on in it.
//
//evidence:trace
func TestAnotherProcessGoesOnInTheTrace(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Retry = retry.Policy{MaxAttempts: 5, Backoff: retry.Backoff{Initial: 1e3, Max: 1e3, Factor: 1}}
		first := b.consumer(config)
		fails := func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error { return errBoom }
		consumer.Handle(first, topic, fails)
		b.start(first)
		origin, headers := sender(1)
		headers["tracestate"] = "vendor=1"
		b.acked(b.src.Deliver(topic, "a", []byte(`{"n": 1}`), headers))
		if err := b.halt(); err != nil {
			b.Fatal(err)
		}

		o := observe(b)
		c := o.consumer(o.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "invoices", Value: m.Body})
		})
		b.start(c)
		send := o.one("send invoices")
		run := o.one("process " + topic)
		o.child(run, origin)
		o.child(send, run.SpanContext())
		if got := send.SpanContext().TraceState().String(); got != "vendor=1" {
			o.Errorf("trace state %q", got)
		}
	})
}
