package consumer_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/attribute"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/retry"
)

// INVARIANTS 22: the counters reconcile with each other, with Stats and with the tables.
//
//evidence:counters
func TestMetricsReconcile(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		config := o.config()
		config.Retry = retry.Policy{MaxAttempts: 2, Immediate: 0, Backoff: quick.Backoff}
		c := o.consumer(config)
		var seen runs
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			n := seen.next(m.ID)
			switch {
			case m.Body.N == 1 && n == 1, m.Body.N == 2:
				return errBoom // to the backlog; 2 for good
			case m.Body.N == 3:
				return retry.Permanent(errBoom)
			case m.Body.N == 4:
				return inbox.ErrStale
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		const n = 40
		var messages []*message.Message
		for i := range n {
			messages = append(messages, b.deliver(fmt.Sprint(i), fmt.Sprintf(`{"n": %d}`, i%5)))
		}
		messages = append(messages, b.deliver("7", `{"n": 2}`), b.deliver("9", `{"n": 9}`), b.deliver("10", "{"), b.deliver("x", "{"))
		b.acked(messages...)
		outcome := func(name string) int64 { return o.sum("headrace.messages.processed", "headrace.outcome", name) }
		o.eventually("an empty backlog", func() bool {
			return o.sum("headrace.backlog.processed") == outcome("waiting")
		})
		s := c.Stats()
		if delivered := o.sum("messaging.client.consumed.messages"); delivered != int64(len(messages)) || s.Delivered != delivered {
			o.Errorf("%d delivered, want %d; Stats %d", delivered, len(messages), s.Delivered)
		}
		o.outcomes(s)
		if all := o.sum("headrace.messages.processed"); all != int64(len(messages)) || o.sum("headrace.messages.in_flight") != 0 {
			o.Errorf("%d of %d have an outcome, %d are in flight", all, len(messages), o.sum("headrace.messages.in_flight"))
		}
		if got, want := o.sum("headrace.backlog.processed", "headrace.outcome", "applied"), s.BacklogApplied; got != want || want == 0 {
			o.Errorf("%d applied from the backlog, Stats %d", got, want)
		}
		o.letters()
		if ran := o.sum("messaging.process.duration"); ran < s.Applied+s.BacklogApplied+s.FailedRuns {
			o.Errorf("%d runs, want %d at least", ran, s.Applied+s.BacklogApplied+s.FailedRuns)
		}
	})
}

// outcomes compares the counters with Stats.
func (o *observed) outcomes(s consumer.Stats) {
	o.Helper()
	for name, want := range map[string]int64{
		"applied": s.Applied, "duplicate": s.Duplicates, "stale": s.Stale, "waiting": s.Waiting,
		"dead": s.Dead, "conflict": s.Conflicts, "released": s.Released,
	} {
		if got := o.sum("headrace.messages.processed", "headrace.outcome", name); got != want {
			o.Errorf("%s: %d, Stats %d", name, got, want)
		}
	}
}

// letters compares the counters with the table.
func (o *observed) letters() {
	o.Helper()
	for _, class := range []dlq.Class{dlq.Exhausted, dlq.Permanent, dlq.Conflict, dlq.Undecodable} {
		want, err := o.st.Letters().Count(o.Context(), dlq.Filter{Class: class})
		if err != nil {
			o.Fatal(err)
		}
		if got := o.sum("headrace.dead_letters.recorded", "headrace.class", string(class), "messaging.destination.name", topic); got != want || want == 0 {
			o.Errorf("%d letters %s recorded, %d in the table", got, class, want)
		}
	}
}

// The gauges say what the tables hold, over all processes, and go with Run.
func TestGauges(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		first := observe(b)
		config := first.config()
		config.Sink, config.Retry = nil, retry.Policy{MaxAttempts: 9, Backoff: retry.Backoff{Initial: 1 << 40, Max: 1 << 40, Factor: 1}}
		c := first.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.Body.N == 1 {
				return retry.Permanent(errBoom)
			}
			if m.Body.N == 3 {
				return retry.Postpone(time.Hour, errBoom)
			}
			return errBoom
		})
		b.start(c)
		b.acked(b.deliver("a", `{"n": 1}`), b.deliver("b", `{"n": 2}`), b.deliver("c", `{"n": 2}`), b.deliver("d", `{"n": 3}`))
		for status, want := range map[string]int64{"ready": 0, "delayed": 2, "postponed": 1, "blocked": 0, "leased": 0} {
			first.reads(want, "headrace.backlog.messages", "headrace.status", status, "headrace.consumer", "test")
		}
		first.reads(1, "headrace.dead_letters.open", "headrace.class", "permanent")
		first.reads(1, "headrace.consumer.ready")
		first.reads(0, "headrace.consumer.paused")
		first.eventually("an alert that the hook took, and a new group", func() bool {
			return first.sum("headrace.alerts.sent", "headrace.outcome", "sent", "headrace.sink", "hook", "headrace.kind", "group_failing") == 1 && first.sum("headrace.dead_letter_groups.opened", "headrace.group.state", "new") == 1
		})
		if _, there := first.collect()["headrace.alerts.dropped"]; !there {
			b.Error("no counter of dropped alerts")
		}
		if err := b.halt(); err != nil {
			b.Fatal(err)
		}
		if got := points(first.collect()["headrace.backlog.messages"]); len(got) != 0 {
			b.Errorf("after Run: %v", got)
		}
	})
}

// Counters begin at 0, and every gauge has a value: a series that begins at 1 has no increase.
func TestMetricsBegin(t *testing.T) {
	t.Parallel()
	o := observe(setupSQLite(t))
	c := o.consumer(o.config())
	consumer.Handle(c, topic, func(context.Context, *headrace.Tx, *headrace.Message[body]) error { return nil })
	o.start(c)
	for _, task := range []string{"count", "redrive", "requests"} {
		o.eventually(task+" has run", func() bool { return o.there("headrace.maintenance.last_run", "headrace.task", task) })
	}
	for name, label := range map[string]string{
		"headrace.messages.processed": "headrace.outcome=applied dead released", "headrace.backlog.processed": "headrace.outcome=applied dead",
		"headrace.dead_letters.recorded":     "headrace.class=exhausted permanent crashed",
		"headrace.dead_letter_groups.opened": "headrace.group.state=new escalating regressed",
		"headrace.dead_letter_groups.open":   "headrace.group.state=new ongoing escalating regressed",
		"headrace.dead_letters.oldest.age":   "headrace.consumer=test",
		"headrace.redrives":                  "headrace.state=running paused",
		"headrace.redrive.queued":            "headrace.state=running paused",
		"headrace.redrive.messages":          "headrace.outcome=succeeded failed unknown skipped",
		"headrace.rehearsals":                "headrace.outcome=pass fail",
		"headrace.alerts.sent":               "headrace.outcome=sent failed",
	} {
		key, values, _ := strings.Cut(label, "=")
		for _, value := range strings.Fields(values) {
			// A gauge whose reading takes too long is left out, as on a busy machine.
			o.eventually(fmt.Sprintf("%s has a value for %s=%s", name, key, value), func() bool { return o.there(name, key, value) })
		}
		if got := o.sum(name); got != 0 {
			o.Errorf("%s begins at %d", name, got)
		}
	}
	if got, want := len(points(o.collect()["headrace.alerts.sent"])), 2*len(alerts.Kinds()); got != want || !o.there("headrace.alerts.sent", "headrace.sink", "hook") {
		o.Errorf("alerts have %d counters, want %d for the sink", got, want)
	}
}

// reads waits until a gauge has a value, which it must be: a gauge whose reading takes too long is left out, as on a busy machine.
func (o *observed) reads(want int64, name string, labels ...string) {
	o.Helper()
	o.eventually(name+" has a value", func() bool { return len(points(o.collect()[name])) > 0 })
	o.eventually(fmt.Sprintf("%s %v is %d", name, labels, want), func() bool { return o.sum(name, labels...) == want })
}

// there reports whether a metric has a series with this label.
func (o *observed) there(name, key, value string) bool {
	o.Helper()
	return slices.ContainsFunc(points(o.collect()[name]), func(p point) bool {
		v, ok := p.attrs.Value(attribute.Key(key))
		return ok && v.String() == value
	})
}

// The gauges of a consumer's line count what waits for a handler that no process has, too; a
// consumer without local handlers has none.
func TestGaugesOfALine(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		if err := b.st.Operations().Subscriptions.Subscribe(b.Context(), map[string][]string{"test": {"gone"}}); err != nil {
			b.Fatal(err)
		}
		b.publish(headrace.Event{Topic: "gone", Value: body{1}, Local: true}, headrace.Event{Topic: "gone", Value: body{1}, Local: true})
		o := observe(b)
		config := o.config()
		config.Sink, config.Source = nil, nil
		c := o.consumer(config)
		consumer.Handle(c, topic, insert, consumer.Local())
		b.start(c)
		b.eventually("Ready", func() bool { return c.Ready() == nil })
		b.eventually("the gauges of the line", func() bool { // one whose reading takes too long is left out
			all := o.collect()
			_, age := all["headrace.local.oldest.age"]
			return age && len(points(all["headrace.local.messages"])) == 1 && o.sum("headrace.local.messages", "headrace.consumer", "test") == 2
		})
		if err := b.halt(); err != nil {
			b.Fatal(err)
		}
		other := observe(b)
		c = other.consumer(other.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		if got := points(other.collect()["headrace.local.messages"]); len(got) != 0 {
			b.Errorf("without local handlers: %v", got)
		}
	})
}

// The relay's gauges and counters.
func TestRelayMetrics(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		c := o.consumer(o.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			return tx.Publish(headrace.Event{Topic: "later", Value: 1, Delay: 1 << 40}, headrace.Event{Topic: "invoices", Value: 1})
		})
		b.start(c)
		b.acked(b.deliver("a", `{"n": 1}`))
		o.eventually("published", func() bool { return len(o.named("send invoices")) == 1 })
		if got := o.sum("messaging.client.sent.messages", "messaging.destination.name", "invoices"); got != 1 {
			b.Errorf("%d sent", got)
		}
		if got := o.sum("headrace.outbox.messages", "headrace.status", "delayed", "headrace.relay", "test"); got != 1 {
			b.Errorf("%d delayed events, want 1", got)
		}
	})
}

// canary is in everything that a user or a broker may put into a message.
const canary = "canary-4711"

// INVARIANTS 20: nothing that is exported holds a payload, a header, a key, an id, a
// position, or the words of an error or a panic.
//
//evidence:secret
func TestTelemetryIsConfidential(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		config := o.config()
		config.OrderKey = func(d *headrace.Delivery) string { return d.Metadata["shop"] }
		c := o.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[map[string]string]) error {
			switch m.Body["do"] {
			case "panic":
				panic(canary)
			case "fail":
				return fmt.Errorf("charge %s: %w", m.Body["card"], errBoom)
			case "dead":
				return retry.Permanent(fmt.Errorf("no such card: %s", m.Body["card"]))
			}
			return tx.Publish(headrace.Event{ID: m.ID, Topic: "invoices", OrderKey: m.OrderKey, Value: m.Body, Metadata: m.Metadata})
		})
		b.start(c)
		deliver := func(id, payload string) {
			m := message.NewMessage(canary+id, []byte(payload))
			m.Metadata = message.Metadata{"shop": canary, "tracestate": "vendor=" + canary, "traceparent": canary}
			m.SetContext(headrace.WithArrival(m.Context(), headrace.Arrival{Coordinates: headrace.Coordinates{Broker: "kafka", Topic: topic, Partition: canary, Position: canary}}))
			b.src.DeliverMessage(topic, m)
			b.acked(m)
		}
		for _, do := range []string{"panic", "fail", "dead", "publish"} {
			deliver(do, fmt.Sprintf(`{"do": %q, "card": %q}`, do, canary))
		}
		deliver("publish", `{"another": "`+canary+`"}`)
		deliver("bad", canary)
		o.eventually("published and given up", func() bool {
			return len(o.named("send invoices")) == 1 && o.sum("headrace.dead_letters.recorded") == 5
		})
		var text strings.Builder
		for _, s := range o.spans.Ended() {
			fmt.Fprintln(&text, s.Name(), s.Status(), s.Attributes(), s.Events())
			if s.Status().Description != "" {
				b.Errorf("%s: the status says %q", s.Name(), s.Status().Description)
			}
		}
		for name, data := range o.collect() {
			fmt.Fprintln(&text, name)
			for _, p := range points(data) {
				fmt.Fprintln(&text, p.attrs.ToSlice())
			}
		}
		if !strings.Contains(text.String(), "panic") || !strings.Contains(text.String(), "headrace.error.fingerprint") {
			b.Errorf("the failures are not in it:\n%s", text.String())
		}
		for _, word := range []string{canary, errBoom.Error(), "no such card"} {
			if strings.Contains(text.String(), word) {
				b.Errorf("%q is in what is exported:\n%s", word, text.String())
			}
		}
	})
}

// With durable intake, and with a lease, the counters reconcile as well, and a
// letter is counted once however often its message comes.
//
//evidence:intake counters
func TestMetricsOfIntakeAndLease(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		o := observe(b)
		c := o.consumer(o.config())
		consumer.HandleLeased(c, topic, func(ctx context.Context, m *headrace.Message[body]) (headrace.Effects, error) {
			return func(ctx context.Context, tx *headrace.Tx) error {
				return tx.Publish(headrace.Event{Topic: "invoices", Value: m.Body})
			}, nil
		})
		b.start(c)
		origin, headers := sender(1)
		for _, payload := range []string{`{"n": 1}`, `{"n": 2}`, `{"n": 2}`} {
			b.acked(b.src.Deliver(topic, "a", []byte(payload), headers))
		}
		send := o.one("send invoices")
		if send.SpanContext().TraceID() != origin.TraceID() {
			b.Errorf("the event of a lease is in trace %s", send.SpanContext().TraceID())
		}
		if got := o.sum("headrace.dead_letters.recorded", "headrace.class", "conflict"); got != 1 {
			b.Errorf("%d letters recorded, want 1", got)
		}
		if got := o.sum("headrace.messages.processed"); got != 3 || o.sum("messaging.client.consumed.messages") != 3 {
			b.Errorf("%d outcomes, want 3", got)
		}
		o.eventually("the row's outcome", func() bool {
			return o.sum("headrace.backlog.processed", "headrace.outcome", "applied") == 1
		})
		if ran := o.sum("messaging.process.duration"); ran != 1 {
			o.Errorf("%d runs are measured, want 1: the work, and not its commit", ran)
		}
	})
}
