package relay_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
)

// company publishes events without an order, one after the other, until stop: what
// else the sink confirms.
func (b *bundle) company() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		for i := 0; ctx.Err() == nil; i++ {
			b.publish(event("company", "", fmt.Sprintf("company-%d", i)))
			select {
			case <-time.After(2 * time.Millisecond): // a load, not a wait
			case <-ctx.Done():
			}
		}
	}()
	return func() { cancel(); <-done }
}

// DESIGN §3 Relay, INVARIANTS 9: a row that the sink refuses is parked with its
// reason, and its order with it, also rows written later; others flow. Unparked,
// the order goes on where it stopped.
//
//evidence:parked
func TestAPoisonRowParksAloneWithItsOrder(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.sink.refusing(only("bad-1"))
		parked := make(chan relay.Parked, 10)
		o := b.options()
		o.MaxAttempts = 3
		o.OnParked = func(p relay.Parked) { parked <- p; b.board.note() }
		b.relay(b.st, o)
		b.publish(series("t", "bad", "bad", 4)...)
		b.publish(series("t", "good", "good", 4)...)
		stop := b.company()
		p := <-parked
		stop()
		b.publish(event("t", "bad", "bad-4"))
		b.until("all of the order waits", func() bool { s := b.status(); return s.Parked == 1 && s.Behind == 3 && s.Ready == 0 })
		want := relay.Parked{RowID: p.RowID, EventID: "bad-1", Topic: "t", OrderKey: "bad", Attempts: 3, Error: errRefused.Error()}
		if diff := cmp.Diff(want, p); diff != "" {
			b.Errorf("OnParked (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"bad-0", "good-0", "good-1", "good-2", "good-3"}, sorted(b.sink.ids("t"))); diff != "" {
			b.Errorf("published (-want +got):\n%s", diff)
		}
		rows, err := b.st.Outbox().Parked(context.Background(), "", 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Error != errRefused.Error() || rows[0].Attempts != 3 {
			b.Errorf("parked rows: %+v, %v", rows, err)
		}

		b.sink.refusing(nil)
		if n, err := b.st.Outbox().Unpark(context.Background(), "", nil); n != 1 || err != nil {
			b.Fatalf("unparked %d: %v", n, err)
		}
		b.untilEmpty()
		if diff := cmp.Diff([]string{"bad-0", "bad-1", "bad-2", "bad-3", "bad-4"}, having(b.sink.ids("t"), "bad-")); diff != "" {
			b.Errorf("order of the unparked (-want +got):\n%s", diff)
		}
	})
}

// More rows wait behind a parked one than a batch holds.
func TestALongOrderIsUnparked(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.sink.refusing(only("e-0"))
		o := b.options()
		o.MaxAttempts = 1
		o.BatchRows = 7
		b.relay(b.st, o)
		stop := b.company()
		b.publish(series("t", "k", "e", 60)...)
		b.until("the order waits", func() bool { s := b.status(); return s.Parked == 1 && s.Behind == 59 })
		stop()
		b.sink.refusing(nil)
		if _, err := b.st.Outbox().Unpark(context.Background(), "", nil); err != nil {
			b.Fatal(err)
		}
		b.untilEmpty()
		var want []string
		for i := range 60 {
			want = append(want, fmt.Sprint("e-", i))
		}
		if diff := cmp.Diff(want, b.sink.ids("t")); diff != "" {
			b.Errorf("published (-want +got):\n%s", diff)
		}
	})
}

// Neither a refused delayed event nor one without an order holds others up.
//
//evidence:parked
func TestRefusedRowsOutsideOfAnOrder(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.sink.refusing(only("delayed", "free"))
		o := b.options()
		o.MaxAttempts = 1000
		b.relay(b.st, o)
		delayed := event("t", "k", "delayed")
		delayed.Delay = time.Millisecond
		b.publish(delayed, event("t", "", "free"))
		stop := b.company()
		b.until("both are put off", func() bool { return b.status().Delayed == 2 })
		b.publish(series("t", "k", "e", 3)...)
		b.until("the order flows", func() bool { return len(b.sink.ids("t")) == 3 })
		b.sink.refusing(nil)
		stop()
		b.untilEmpty()
	})
}

// DESIGN §3 Relay: attempts are spent only while the same sink confirms other
// rows. An outage parks nothing, puts nothing off, and is tried less and less.
//
//evidence:sink-away
func TestAnOutageParksNothing(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.sink.refusing(everything)
		var stalls, resumes atomic.Int64
		o := b.options()
		o.MaxAttempts = 1
		o.OnStalled = func(err error) {
			if err != nil {
				stalls.Add(1)
			} else {
				resumes.Add(1)
			}
			b.board.note()
		}
		r, _ := b.relay(b.st, o)
		b.publish(series("t", "k", "k", 5)...)
		b.publish(series("t", "", "free", 200)...)
		b.until("it is stalled", r.Stalled)
		calls, _ := b.sink.called()
		start := time.Now()
		b.until("it was tried again", func() bool { n, _ := b.sink.called(); return n > calls+120 })
		if d := time.Since(start); d < 100*time.Millisecond {
			b.Errorf("120 calls within %s: the pauses do not grow", d)
		}
		s, err := r.Status(context.Background())
		if err != nil {
			b.Fatal(err)
		}
		if want := (outbox.Status{Outbox: outbox.DefaultName, Ready: 205, Oldest: s.Oldest, Relays: 1, Sink: "the test's"}); s.Status != want || !s.Stalled || s.LastError != errRefused.Error() {
			b.Errorf("status during the outage: %+v", s)
		}
		b.sink.refusing(nil)
		b.untilEmpty()
		b.until("it goes on", func() bool { return !r.Stalled() && resumes.Load() == 1 })
		if stalls.Load() != 1 {
			b.Errorf("%d stalls were reported, want 1", stalls.Load())
		}
		if diff := cmp.Diff([]string{"k-0", "k-1", "k-2", "k-3", "k-4"}, having(b.sink.ids("t"), "k-")); diff != "" {
			b.Errorf("published (-want +got):\n%s", diff)
		}
	})
}

// While it is stalled, rows that can be confirmed are found beside many that
// cannot.
func TestAStallEndsWithOneGoodRow(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.sink.refusing(func(topic, _ string) error {
			if topic == "bad" {
				return errRefused
			}
			return nil
		})
		o := b.options()
		o.MaxAttempts = 1000
		r, _ := b.relay(b.st, o)
		b.publish(series("bad", "", "bad", 100)...)
		b.until("it is stalled", r.Stalled)
		b.publish(series("good", "k", "good", 5)...)
		b.until("the good ones are published", func() bool { return len(b.sink.ids("good")) == 5 && total(b.status()) == 100 })
		if s := b.status(); s.Parked != 0 {
			b.Errorf("status %+v", s)
		}
	})
}

// A Publisher that panics refuses.
func TestAPanickingPublisher(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.sink.refusing(func(_, id string) error {
			if id == "bad" {
				panic("at " + id)
			}
			return nil
		})
		o := b.options()
		o.MaxAttempts = 2
		b.relay(b.st, o)
		b.publish(event("t", "", "bad"))
		stop := b.company()
		b.until("it is parked", func() bool { return b.status().Parked == 1 })
		stop()
		rows, err := b.st.Outbox().Parked(context.Background(), "", 0, 10)
		if err != nil || rows[0].Error != "panic: at bad" {
			b.Errorf("parked rows: %+v, %v", rows, err)
		}
	})
}

// A row that the sink calls too large is parked also if nothing else is published: it is no
// outage.
//
//evidence:parked
func TestATooLargeRowIsParkedAlone(t *testing.T) {
	onEach(t, func(b *bundle) {
		b.sink.refusing(func(_, id string) error {
			if id == "large" {
				return fmt.Errorf("t: %w", outbox.ErrTooLarge)
			}
			return nil
		})
		o := b.options()
		o.MaxAttempts = 3
		var stalled atomic.Bool
		o.OnStalled = func(error) { stalled.Store(true); b.board.note() }
		b.relay(b.st, o)
		b.publish(event("t", "", "large"))
		b.until("it is parked, or an outage", func() bool { return b.status().Parked == 1 || stalled.Load() })
		if stalled.Load() {
			b.Fatal("a row that is too large is taken for an outage")
		}
		rows, err := b.st.Outbox().Parked(context.Background(), "", 0, 10)
		if err != nil || len(rows) != 1 || rows[0].Attempts != 3 {
			b.Errorf("parked rows: %+v, %v", rows, err)
		}
	})
}
