package telemetry

import (
	"context"
	"testing"
	"time"

	"github.com/headrace/headrace"
)

// one is what is recorded of a message of a group, but for the first of it.
func one(h *Handler, d *headrace.Delivery, first bool) {
	r := h.Receive(background, d)
	r.Taken(false)
	h.Delivered(d)
	_, _, run := h.Start(background, d, r, first)
	run.Returned()
	h.Took(d, time.Millisecond, "")
	run.End("applied")
	h.Settled(0)
}

func delivery() *headrace.Delivery {
	return &headrace.Delivery{
		Topic: "orders", Coordinates: headrace.Coordinates{Broker: "kafka"}, Attempt: 1,
		Trace: headrace.TraceContext{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"},
	}
}

// Without an SDK a message allocates nothing, and a transaction what one span of the
// API does.
func TestNothingIsAllocatedWithoutSDK(t *testing.T) {
	tel, err := New(nil, nil) // the global ones
	if err != nil {
		t.Fatal(err)
	}
	h, d := tel.Handler("billing", "orders", []string{"applied"}), delivery()
	one(h, d, true)
	if n := testing.AllocsPerRun(1000, func() { one(h, d, false) }); n != 0 {
		t.Errorf("%v allocations for a message", n)
	}
	if n := testing.AllocsPerRun(1000, func() { one(h, d, true); h.Batch(64) }); n > 8 {
		t.Errorf("%v allocations for a transaction", n)
	}
	if n := testing.AllocsPerRun(1000, func() { one(nil, d, true) }); n != 0 {
		t.Errorf("%v allocations without telemetry", n)
	}
}

func BenchmarkMessageWithoutSDK(b *testing.B) {
	tel, err := New(nil, nil)
	if err != nil {
		b.Fatal(err)
	}
	h, d := tel.Handler("billing", "orders", []string{"applied"}), delivery()
	b.ReportAllocs()
	for i := range b.N {
		one(h, d, i%64 == 0)
	}
}

// A Sender allocates per call of the sink, not per event.
func TestSendWithoutSDK(t *testing.T) {
	tel, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, trace := tel.Sender("relay"), delivery().Trace
	call := func(n int) float64 {
		return testing.AllocsPerRun(100, func() {
			c := s.Begin("invoices", n)
			for range n {
				if _, got := c.Send(context.Background(), trace); got != trace {
					t.Errorf("the trace became %v", got)
				}
			}
			c.End("", "")
		})
	}
	if few, many := call(1), call(256); many > few {
		t.Errorf("%v allocations for 256 events, %v for one", many, few)
	}
}
