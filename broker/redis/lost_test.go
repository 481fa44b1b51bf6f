package redis_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace/broker/redis"
)

// lines is a log that tests read while it is written.
type lines struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// Entries that were trimmed before the group has read them are said, with their number, and
// once: while no source runs, and while one is busy; a later process does not say it again. What was read before it is trimmed is
// not lost.
func TestTrimmedUnread(t *testing.T) {
	b := newStream(t)
	fill := func(n int, most int64) {
		for range n {
			if err := b.client.XAdd(t.Context(), &goredis.XAddArgs{Stream: b.topic, MaxLen: most, Values: []any{"payload", "x"}}).Err(); err != nil {
				t.Fatal(err)
			}
		}
	}
	log, reader := &lines{}, metric.NewManualReader()
	options := redis.SourceOptions{
		InFlight: 10, Logger: slog.New(slog.NewTextHandler(log, nil)), MeterProvider: metric.NewMeterProvider(metric.WithReader(reader)),
	}
	take := func(messages <-chan *message.Message, n int) {
		t.Helper()
		for range n {
			select {
			case m := <-messages:
				m.Ack()
			case <-time.After(patience):
				t.Fatalf("no message came; the log: %s", log)
			}
		}
	}
	said := func(lost ...int) {
		t.Helper()
		deadline := time.Now().Add(patience)
		for strings.Count(log.String(), "entries were removed") < len(lost) && time.Now().Before(deadline) {
			time.Sleep(10 * time.Millisecond)
		}
		sum := 0
		for _, n := range lost {
			if sum += n; !strings.Contains(log.String(), fmt.Sprintf(" entries=%d ", n)) {
				t.Errorf("the log does not say %d: %s", n, log)
			}
		}
		if n := strings.Count(log.String(), "entries were removed"); n != len(lost) {
			t.Errorf("said %d times, want %d: %s", n, len(lost), log)
		}
		var all metricdata.ResourceMetrics
		if err := reader.Collect(t.Context(), &all); err != nil {
			t.Fatal(err)
		}
		if sum > 0 {
			if got := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints[0].Value; got != int64(sum) {
				t.Errorf("headrace.redis.lost is %d, want %d", got, sum)
			}
		}
	}
	fill(20, 0)
	first := b.source(options)
	take(b.subscribe(first), 20)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	fill(300, 100) // the 20 are read; of these 200 are gone
	second := b.source(options)
	messages := b.subscribe(second)
	take(messages, 100)
	said(200)
	fill(30, 0)
	var busy []*message.Message
	for range 10 { // as many as it may hold
		busy = append(busy, <-messages)
	}
	fill(200, 50) // of the other 220
	for _, m := range busy {
		m.Ack()
	}
	take(messages, 50)
	said(200, 170)
	if err := b.client.XTrimMaxLen(t.Context(), b.topic, 0).Err(); err != nil {
		t.Fatal(err)
	}
	fill(1, 0)
	take(messages, 1)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	fill(20, 5)
	messages = b.subscribe(b.source(options))
	take(messages, 5)
	said(200, 170, 15)
}
