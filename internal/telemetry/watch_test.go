package telemetry

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// meter is a Telemetry with two readers.
func meter(t *testing.T) (*Telemetry, [2]*metric.ManualReader) {
	t.Helper()
	readers := [2]*metric.ManualReader{metric.NewManualReader(), metric.NewManualReader()}
	tel, err := New(nil, metric.NewMeterProvider(metric.WithReader(readers[0]), metric.WithReader(readers[1])))
	if err != nil {
		t.Fatal(err)
	}
	return tel, readers
}

// read returns the value of the first series of a gauge, and whether there is one.
func read(t *testing.T, r *metric.ManualReader, name string) (int64, bool) {
	t.Helper()
	var rm metricdata.ResourceMetrics
	if err := r.Collect(context.Background(), &rm); err != nil {
		t.Fatal(err)
	}
	for _, scope := range rm.ScopeMetrics {
		for _, m := range scope.Metrics {
			if g, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == name && len(g.DataPoints) > 0 {
				return g.DataPoints[0].Value, true
			}
		}
	}
	return 0, false
}

func closing(t *testing.T, w *Watch) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	if err := w.Close(ctx); err != nil {
		t.Error(err)
	}
}

// However many readers there are, the database is asked at most once in ten seconds.
func TestAskedOnceForAllReaders(t *testing.T) {
	tel, readers := meter(t)
	var asked atomic.Int64
	w, err := tel.Watch("headrace.consumer", "c", nil, func(context.Context) ([]Value, error) {
		return []Value{{Gauge: Backlog, Kind: "ready", N: asked.Add(1)}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var now atomic.Int64
	w.now = func() time.Time { return time.Unix(1000, now.Load()) }
	for range 3 {
		for _, r := range readers {
			if n, ok := read(t, r, "headrace.backlog.messages"); !ok || n != 1 {
				t.Fatalf("value %d, %v", n, ok)
			}
		}
	}
	now.Store(int64(period))
	if n, _ := read(t, readers[1], "headrace.backlog.messages"); n != 2 {
		t.Errorf("value %d after ten seconds, want 2", n)
	}
	closing(t, w)
	if _, ok := read(t, readers[0], "headrace.backlog.messages"); ok || asked.Load() != 2 {
		t.Errorf("asked %d times", asked.Load())
	}
}

// Where the database fails, a gauge has no value, not an old one, and is asked again
// later.
func TestNoValueWhereTheQueryFails(t *testing.T) {
	tel, readers := meter(t)
	var down atomic.Bool
	w, err := tel.Watch("headrace.consumer", "c", func() []Value { return []Value{{Gauge: Stalled, N: 1}} },
		func(context.Context) ([]Value, error) {
			if down.Load() {
				return nil, errors.New("no database")
			}
			return []Value{{Gauge: Backlog, Kind: "ready", N: 7}}, nil
		})
	if err != nil {
		t.Fatal(err)
	}
	defer closing(t, w)
	at := time.Unix(1000, 0)
	w.now = func() time.Time { return at }
	for _, step := range []struct{ down, there bool }{{false, true}, {true, false}, {false, true}} {
		down.Store(step.down)
		if _, ok := read(t, readers[0], "headrace.backlog.messages"); ok != step.there {
			t.Errorf("down %v: a value %v", step.down, ok)
		}
		if n, _ := read(t, readers[0], "headrace.relay.stalled"); n != 1 {
			t.Error("what needs no query went too")
		}
		at = at.Add(period)
	}
}

// A query that hangs holds up the reader that began it for readTime, the later ones
// not, and its context ends by itself.
func TestHangingQueryStallsNobody(t *testing.T) {
	tel, readers := meter(t)
	hangs := make(chan struct{})
	w, err := tel.Watch("headrace.consumer", "c", nil, func(context.Context) ([]Value, error) {
		<-hangs // a driver that ignores its context
		return []Value{{Gauge: Backlog, N: 1}}, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	w.read = 20 * time.Millisecond
	if _, ok := read(t, readers[0], "headrace.backlog.messages"); ok {
		t.Error("a value of a query that hangs")
	}
	w.read, w.now = 10*time.Second, func() time.Time { return time.Now().Add(11 * time.Second) } // it is over for later ones
	start := time.Now()
	if _, ok := read(t, readers[1], "headrace.backlog.messages"); ok {
		t.Error("a value of a query that hangs")
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("a later reader was held up for %s", took)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
	defer cancel()
	if err := w.Close(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("close: %v", err)
	}
	close(hangs)
	closing(t, w)
}
