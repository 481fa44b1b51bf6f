package relay_test

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox/relay"
)

// freeSink confirms everything at once.
type freeSink struct{ took atomic.Int64 }

func (s *freeSink) Publish(_ string, msgs ...*message.Message) error {
	s.took.Add(int64(len(msgs)))
	return nil
}

func (s *freeSink) Close() error { return nil }

// BenchmarkBacklog publishes a backlog to a sink that costs nothing. The number of
// rows is HEADRACE_BENCH_ROWS, or 20,000.
func BenchmarkBacklog(b *testing.B) {
	rows := 20_000
	if n, err := strconv.Atoi(os.Getenv("HEADRACE_BENCH_ROWS")); err == nil {
		rows = n
	}
	for name, database := range map[string]func(testing.TB) opener{"sqlite": sqliteDB, "postgres": postgresDB} {
		for _, keys := range []int{0, 1000} {
			b.Run(fmt.Sprintf("%s/keys=%d", name, keys), func(b *testing.B) {
				for range b.N {
					b.StopTimer()
					bundle := setup(b, database(b))
					bundle.fill(rows, keys)
					b.StartTimer()
					start := time.Now()
					bundle.drain(rows)
					b.ReportMetric(float64(rows)/time.Since(start).Seconds(), "rows/s")
				}
			})
		}
	}
}

func (b *bundle) fill(rows, keys int) {
	for from := 0; from < rows; from += 10_000 {
		events := make([]headrace.Event, min(10_000, rows-from))
		for i := range events {
			key := ""
			if keys > 0 {
				key = fmt.Sprint("key-", (from+i)%keys)
			}
			events[i] = headrace.Event{Topic: "t", OrderKey: key, Payload: make([]byte, 300),
				Metadata: map[string]string{"name": "value", "other": "value"}}
		}
		b.publish(events...)
	}
}

// drain runs a relay until the outbox is empty.
func (b *bundle) drain(rows int) {
	sink := &freeSink{}
	o := b.options()
	if n, err := strconv.Atoi(os.Getenv("HEADRACE_BENCH_WORKERS")); err == nil {
		o.Workers = n
	}
	r, err := relay.New(b.st, sink, o)
	if err != nil {
		b.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- r.Run(ctx) }()
	for {
		changed := b.board.changed()
		if sink.took.Load() >= int64(rows) {
			break
		}
		<-changed
	}
	cancel()
	if err := <-done; err != nil {
		b.Error(err)
	}
	if n := total(b.status()); n != 0 {
		b.Errorf("%d rows are left", n)
	}
}

// BenchmarkSteady publishes while others write: b.N transactions of four events
// without an order, by four writers.
func BenchmarkSteady(b *testing.B) {
	for name, database := range map[string]func(testing.TB) opener{"sqlite": sqliteDB, "postgres": postgresDB} {
		b.Run(name, func(b *testing.B) {
			bundle := setup(b, database(b))
			sink := &freeSink{}
			r, err := relay.New(bundle.st, sink, bundle.options())
			if err != nil {
				b.Fatal(err)
			}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- r.Run(ctx) }()
			start := time.Now()
			b.SetParallelism(2)
			b.RunParallel(func(pb *testing.PB) {
				for pb.Next() {
					bundle.publish(event("t", "", ""), event("t", "", ""), event("t", "", ""), event("t", "", ""))
				}
			})
			written := time.Since(start)
			bundle.until("all are published", func() bool { return sink.took.Load() >= int64(4*b.N) })
			b.ReportMetric(float64(4*b.N)/time.Since(start).Seconds(), "rows/s")
			b.ReportMetric(float64(time.Since(start)-written)/1e6, "lag-ms")
			cancel()
			if err := <-done; err != nil {
				b.Error(err)
			}
		})
	}
}
