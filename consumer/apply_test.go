package consumer_test

import (
	"context"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
)

// Invariant 2: however often a message is delivered, its effect is there once.
//
//evidence:once
func TestEffectsAppliedOnce(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, insert)
		b.start(c)
		var all []*message.Message
		for n := range 100 {
			for range 3 {
				all = append(all, b.deliver(fmt.Sprint("m", n), fmt.Sprintf(`{"n":%d}`, n)))
			}
		}
		b.acked(all...)
		if got := b.count("SELECT count(*) FROM effects"); got != 100 {
			b.Errorf("%d effects of 100 messages", got)
		}
		if got := b.count("SELECT count(DISTINCT msg) FROM effects"); got != 100 {
			b.Errorf("%d different effects of 100 messages", got)
		}
		s := c.Stats()
		if s.Applied != 100 || s.Duplicates != 200 || s.Delivered != 300 {
			b.Errorf("stats do not reconcile (invariant 22): %+v", s)
		}
		again := b.deliver("m7", `{"n":7}`)
		b.acked(again)
		if got := b.effects("m7"); got != 1 {
			b.Errorf("a redelivery after the commit made %d effects", got)
		}
	})
}

// A second delivery that arrives while the first is in its handler waits, and is
// acknowledged as a duplicate.
func TestDuplicateDuringTheHandlerWaits(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		inside, goOn := make(chan struct{}), make(chan struct{})
		var r runs
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if r.next(m.ID) == 1 {
				close(inside)
				<-goOn
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		first := b.deliver("m", `{"n":1}`)
		<-inside
		second := b.deliver("m", `{"n":1}`)
		close(goOn)
		b.acked(first, second)
		if r.of("m") != 1 || b.effects("m") != 1 {
			b.Errorf("%d runs, %d effects", r.of("m"), b.effects("m"))
		}
	})
}

// Two consumers of the same name (two processes) share the inbox.
//
//evidence:once
func TestTwoProcessesOneEffect(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		one := b.consumer(b.config())
		consumer.Handle(one, topic, insert)
		two := b.consumer(b.config())
		consumer.Handle(two, topic, insert)
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- two.Run(ctx) }()
		b.start(one)
		var all []*message.Message
		for n := range 200 {
			for range 4 {
				all = append(all, b.deliver(fmt.Sprint("m", n), fmt.Sprintf(`{"n":%d}`, n)))
			}
		}
		b.acked(all...)
		cancel()
		if err := <-ended; err != nil {
			b.Error(err)
		}
		if got := b.count("SELECT count(*) FROM effects"); got != 200 {
			b.Errorf("%d effects of 200 messages", got)
		}
	})
}

// Invariant 6: events leave if and only if the effects are committed.
//
//evidence:one-commit
func TestEventsShareTheCommit(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			for i := range 2 {
				if err := tx.Publish(headrace.Event{Topic: "done", Value: i}); err != nil {
					return err
				}
			}
			if m.ID == "bad" {
				return errBoom
			}
			return insert(ctx, tx, m)
		})
		b.start(c)
		b.acked(b.deliver("good", `{"n":1}`), b.deliver("bad", `{"n":2}`))
		b.eventually("bad is dead", func() bool { return b.state("bad") == inbox.Dead })
		status, err := b.st.Outbox().Line(outbox.Unclaimed).Status(b.Context()) // there is no Sink
		if err != nil || status.Ready != 2 {
			b.Errorf("line %+v, %v: want the 2 events of the message that was applied", status, err)
		}
	})
}

//evidence:neighbours
func TestBatchHandler(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		var largest atomic.Int64 // the backlog's run beside the source's
		config := b.config()
		config.Concurrency = 1
		c := b.consumer(config)
		var r runs
		consumer.HandleBatch(c, topic, func(ctx context.Context, tx *headrace.Tx, ms []*headrace.Message[body]) error {
			if n := int64(len(ms)); n > largest.Load() {
				largest.Store(n)
			}
			for _, m := range ms {
				r.next(m.ID)
				if err := insert(ctx, tx, m); err != nil {
					return err
				}
			}
			for i, m := range ms {
				if m.ID == "m13" {
					return consumer.BatchError{i: errBoom}
				}
			}
			for _, m := range ms {
				if m.ID == "m29" {
					return errBoom // does not say which
				}
			}
			return nil
		})
		var all []*message.Message
		for n := range 60 {
			all = append(all, b.deliver(fmt.Sprint("m", n), fmt.Sprintf(`{"n":%d}`, n)))
		}
		b.start(c)
		b.acked(all...)
		for _, id := range []string{"m13", "m29"} {
			b.eventually(id+" is dead", func() bool { return b.state(id) == inbox.Dead })
			if n := len(b.attempts(id)); n != quick.MaxAttempts {
				b.Errorf("%s: %d attempts recorded", id, n)
			}
		}
		if got := b.count("SELECT count(*) FROM effects"); got != 58 {
			b.Errorf("%d effects of 58 good messages", got)
		}
		if n := len(b.attempts("m1")); n != 0 {
			b.Errorf("a neighbour has %d attempts", n)
		}
		if largest.Load() < 2 {
			b.Error("no batch held more than one message")
		}
	})
}

// Group commit: while one commit is on its way, messages gather; the next takes them.
//
//evidence:gather
func TestMessagesGatherIntoGroups(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Concurrency, config.BatchTime = 1, time.Hour
		c := b.consumer(config)
		first, goOn := make(chan struct{}), make(chan struct{})
		sizes := make(chan int, 100)
		consumer.HandleBatch(c, topic, func(_ context.Context, _ *headrace.Tx, ms []*headrace.Message[body]) error {
			if ms[0].ID == "m0" {
				close(first)
				<-goOn
			}
			sizes <- len(ms)
			return nil
		})
		b.start(c)
		all := []*message.Message{b.deliver("m0", `{}`)}
		<-first
		for n := range 20 {
			all = append(all, b.deliver(fmt.Sprint("n", n), `{}`))
		}
		b.eventually("all are taken in", func() bool { return c.Stats().InFlight == 21 })
		close(goOn)
		b.acked(all...)
		if one, rest := <-sizes, <-sizes; one != 1 || rest != 20 {
			b.Errorf("groups of %d and %d, want 1 and 20", one, rest)
		}
	})
}

// Handlers of a batch run in the order of their order keys, and within a key as they came:
// transactions that run at once touch the user's rows in one order.
func TestBatchRunsInOrderOfKeys(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		config := b.config()
		config.Concurrency, config.BatchTime, config.OrderKey = 1, time.Hour, ofCustomer
		c := b.consumer(config)
		first, goOn := make(chan struct{}), make(chan struct{})
		var order []string
		consumer.Handle(c, topic, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[body]) error {
			if order = append(order, m.ID); m.ID == "first" {
				close(first)
				<-goOn
			}
			return nil
		})
		b.start(c)
		all := []*message.Message{b.deliver("first", `{}`)}
		<-first
		for n, customer := range []string{"c", "b", "c", "a", "b"} {
			all = append(all, b.deliverFor(customer, fmt.Sprint(customer, n), n))
		}
		b.eventually("all are taken in", func() bool { return c.Stats().InFlight == int64(len(all)) })
		close(goOn)
		b.acked(all...)
		if got := strings.Join(order, " "); got != "first a3 b1 b4 c0 c2" {
			b.Errorf("they ran as %s", got)
		}
	})
}

// The context of a handler does not end with that of its delivery: a Router cancels it in
// Close, and a Pub/Sub with its subscription.
func TestHandlerOutlivesItsDelivery(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		type key struct{}
		ctx, cancel := context.WithCancel(context.WithValue(b.Context(), key{}, "value"))
		defer cancel()
		c := b.consumer(b.config())
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			cancel()
			if ctx.Value(key{}) != "value" {
				b.Error("the handler does not see the values of the delivery's context")
			}
			return insert(ctx, tx, m)
		})
		m := message.NewMessage("m", []byte(`{}`))
		m.SetContext(ctx)
		b.src.DeliverMessage(topic, m)
		b.start(c)
		b.acked(m)
		if b.effects("m") != 1 || len(b.attempts("m")) != 0 {
			b.Errorf("%d effects and %d attempts", b.effects("m"), len(b.attempts("m")))
		}
	})
}

// Invariant 14: what the handler sees is what was sent.
//
//evidence:bytes
func TestHandlerSeesTheDelivery(t *testing.T) {
	onEachStore(t, func(b *bundle) {
		got := make(chan headrace.Delivery, 1)
		config := b.config()
		config.OrderKey = func(d *headrace.Delivery) string { return d.Metadata["customer"] }
		c := b.consumer(config)
		consumer.Handle(c, topic, func(ctx context.Context, _ *headrace.Tx, m *headrace.Message[body]) error {
			if _, ok := ctx.Deadline(); !ok {
				b.Error("the handler's context has no deadline")
			}
			got <- m.Delivery
			return nil
		})
		b.start(c)
		b.acked(b.src.Deliver(topic, "id", []byte(`{"n":1}`), map[string]string{"customer": "c\xff", "traceparent": "00-a-b-01"}))
		d := <-got
		if d.Scope != "test/"+topic || d.Key != "id" || d.ID != "id" || d.Topic != topic || d.Attempt != 1 ||
			string(d.Payload) != `{"n":1}` || d.Metadata["customer"] != "c\xff" || d.Trace.Parent != "00-a-b-01" ||
			time.Since(d.ReceivedAt) > time.Minute || d.OrderKey == "" || d.Fingerprint == "" {
			b.Errorf("delivery %+v", d)
		}
	})
}
