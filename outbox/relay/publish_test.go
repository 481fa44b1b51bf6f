package relay_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
)

// INVARIANTS 7: what is committed is published, whole, and what was rolled back is
// not.
//
//evidence:event
func TestPublishesWhatWasCommitted(t *testing.T) {
	onEach(t, func(b *bundle) {
		e := headrace.Event{
			ID: "id\x01 odd", Topic: "orders", Payload: []byte("\x00\xff bytes"),
			Metadata: map[string]string{"name": "value", "binary": "\xff\x00", "": "empty name"},
			Trace:    headrace.TraceContext{Parent: "00-parent", State: "a=b"},
		}
		own := event("orders", "", "own trace")
		own.Metadata = map[string]string{"traceparent": "mine"}
		own.Trace = e.Trace
		b.publish(e, own)
		tx, err := b.st.DB().Begin()
		if err != nil {
			b.Fatal(err)
		}
		if err := b.ob.Publish(context.Background(), tx, event("orders", "", "ghost")); err != nil {
			b.Fatal(err)
		}
		if err := tx.Rollback(); err != nil {
			b.Fatal(err)
		}
		_, stop := b.relay(b.st, b.options())
		b.untilEmpty()
		stop()
		got := map[string]publication{}
		for _, p := range b.sink.all() {
			p.ctx = nil
			got[p.id] = p
		}
		want := map[string]publication{
			e.ID: {topic: "orders", id: e.ID, payload: "\x00\xff bytes", metadata: map[string]string{
				"name": "value", "binary": "\xff\x00", "": "empty name", "traceparent": "00-parent", "tracestate": "a=b",
			}},
			own.ID: {topic: "orders", id: own.ID, payload: "payload of own trace", metadata: map[string]string{"traceparent": "mine"}},
		}
		if diff := cmp.Diff(want, got, cmp.AllowUnexported(publication{})); diff != "" {
			b.Errorf("published (-want +got):\n%s", diff)
		}
	})
}

// A sink finds the order key of an event in the message's context, to make a partition key
// or a message group of it.
func TestSinkIsToldTheOrderKey(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.publish(event("orders", "key", "one"), event("orders", "", "two"))
		_, stop := b.relay(b.st, b.options())
		b.untilEmpty()
		stop()
		got := map[string]bool{}
		for _, p := range b.sink.all() {
			got[headrace.ArrivalFrom(p.ctx).OrderKey] = true
		}
		if !got["key"] || !got[""] || len(got) != 2 {
			b.Errorf("order keys %v", got)
		}
	})
}

// INVARIANTS 9: per order, first appearances are in the order of the rows, whatever
// the sink does in between; INVARIANTS 7: repetitions look the same.
//
//evidence:event-order
func TestOrderUnderAFailingSink(t *testing.T) {
	onEach(t, func(b *bundle) {
		seed := rand.Uint64()
		b.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		b.sink.refusing(func(string, string) error {
			if random.IntN(10) == 0 {
				return errRefused
			}
			return nil
		})
		o := b.options()
		o.MaxAttempts = 1000
		o.BatchRows = 20
		b.relay(b.st, o)
		var want []string
		for i := range 40 {
			var events []headrace.Event
			for key := range 8 {
				for n := range 2 {
					events = append(events, event("t", fmt.Sprint("k", key), fmt.Sprintf("k%d-%d", key, 2*i+n)))
				}
			}
			events = append(events, event("t", "", fmt.Sprintf("free-%d", i)))
			for _, e := range events {
				want = append(want, e.ID)
			}
			b.publish(events...)
		}
		b.untilEmpty()
		b.sameOnEachPublish()
		got := b.sink.ids("t")
		for key := range 8 {
			prefix := fmt.Sprintf("k%d-", key)
			if diff := cmp.Diff(having(want, prefix), having(got, prefix)); diff != "" {
				b.Errorf("first appearances of %s (-want +got):\n%s", prefix, diff)
			}
		}
		if len(got) != len(want) {
			b.Errorf("%d of %d events were published", len(got), len(want))
		}
	})
}

func having(ids []string, prefix string) []string {
	return slices.DeleteFunc(slices.Clone(ids), func(id string) bool { return !strings.HasPrefix(id, prefix) })
}

// sameOnEachPublish checks that a repetition carries the same payload and metadata.
func (b *bundle) sameOnEachPublish() {
	b.Helper()
	first := map[string]publication{}
	for _, p := range b.sink.all() {
		p.ctx = nil
		before, found := first[p.id]
		if !found {
			first[p.id] = p
		} else if diff := cmp.Diff(before, p, cmp.AllowUnexported(publication{})); diff != "" {
			b.Errorf("event %s changed between two publishes (-first +later):\n%s", p.id, diff)
		}
	}
}

// Several messages of a topic go together where they have no order in common, and
// only one of an order.
func TestMessagesGoTogether(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.publish(series("free", "", "free", 2000)...)
		o := b.options()
		o.Concurrency = 4
		_, stop := b.relay(b.st, o)
		b.untilEmpty()
		stop()
		if calls, most := b.sink.called(); most < 10 || calls > 500 {
			b.Errorf("2000 messages without an order took %d calls, of %d messages at most", calls, most)
		}
		before, _ := b.sink.called()
		b.publish(series("kept", "k", "kept", 50)...)
		b.relay(b.st, o)
		b.untilEmpty()
		if calls, _ := b.sink.called(); calls-before != 50 {
			b.Errorf("50 messages of one order took %d calls, want one each", calls-before)
		}
	})
}

// The sink confirms only some messages of a call: it is unknown which, so each
// is published again alone, and only the refused one is put off.
func TestACallThatFailsInTheMiddle(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.publish(series("t", "", "e", 300)...)
		b.sink.refusing(only("e-50", "e-150"))
		o := b.options()
		o.Concurrency = 2
		o.MaxAttempts = 1000
		b.relay(b.st, o)
		b.until("298 are published and two left", func() bool {
			return len(b.sink.ids("t")) == 298 && total(b.status()) == 2
		})
		b.sameOnEachPublish()
		b.sink.refusing(nil)
		b.untilEmpty()
	})
}

// A delayed event is published when it is due, outside of the order of its key.
func TestDelayedEvents(t *testing.T) {
	onEach(t, func(b *bundle) {
		late := event("t", "k", "late")
		late.Delay = 2 * time.Second // longer than a busy machine takes for the others
		b.relay(b.st, b.options())
		start := time.Now()
		b.publish(event("t", "k", "first"), late, event("t", "k", "second"))
		b.untilEmpty()
		if d := time.Since(start); d < late.Delay {
			b.Errorf("published after %s, before its delay of %s", d, late.Delay)
		}
		if diff := cmp.Diff([]string{"first", "second", "late"}, b.sink.ids("t")); diff != "" {
			b.Errorf("published (-want +got):\n%s", diff)
		}
	})
}

// A message's context goes on after its batch, for publishers that use it later,
// and ends with Run.
func TestTheContextOfAMessage(t *testing.T) {
	onEach(t, func(b *bundle) {
		_, stop := b.relay(b.st, b.options())
		b.publish(event("t", "", "one"))
		b.untilEmpty()
		ctx := b.sink.all()[0].ctx
		if err := ctx.Err(); err != nil {
			b.Errorf("the context ended with the batch: %v", err)
		}
		stop()
		if ctx.Err() == nil {
			b.Error("the context goes on after Run")
		}
	})
}

// Payloads that add up are read in small batches, and all are published.
func TestLargePayloadsAreReadInSmallBatches(t *testing.T) {
	onEach(t, func(b *bundle) {
		watch := &limits{}
		st := &limited{watched: b.st, limits: watch}
		for i := range 15 {
			var events []headrace.Event
			for n := range 20 {
				e := event("t", "one shard", fmt.Sprintf("%d-%d", i, n))
				e.Payload = make([]byte, 100<<10)
				events = append(events, e)
			}
			b.publish(events...)
		}
		o := b.options()
		o.BatchBytes = 1 << 20
		o.Workers = 1
		b.relay(st, o)
		b.untilEmpty()
		read := watch.all()
		if last := read[len(read)-2]; last > 11 {
			b.Errorf("reads of %v rows, of 100 KiB each, want about 10 for 1 MiB", read)
		}
	})
}
