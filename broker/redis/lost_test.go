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

// trimmed is a stream that loses entries, and what its sources say of it.
type trimmed struct {
	*bundle
	log     *lines
	reader  *metric.ManualReader
	options redis.SourceOptions
}

func newTrimmed(t *testing.T) *trimmed {
	s := &trimmed{bundle: newStream(t), log: &lines{}, reader: metric.NewManualReader()}
	s.options = redis.SourceOptions{
		InFlight: 10, Logger: slog.New(slog.NewTextHandler(s.log, nil)), MeterProvider: metric.NewMeterProvider(metric.WithReader(s.reader)),
	}
	return s
}

// fill adds n entries, and leaves most of all; 0 leaves them all.
func (s *trimmed) fill(n int, most int64) {
	s.Helper()
	for range n {
		if err := s.client.XAdd(s.Context(), &goredis.XAddArgs{Stream: s.topic, MaxLen: most, Values: []any{"payload", "x"}}).Err(); err != nil {
			s.Fatal(err)
		}
	}
}

func (s *trimmed) take(messages <-chan *message.Message, n int) {
	s.Helper()
	for range n {
		s.next(messages).Ack()
	}
}

// said fails unless these losses were logged and counted, and no others.
func (s *trimmed) said(lost ...int) {
	s.Helper()
	const warning = "entries were removed"
	for deadline := time.Now().Add(patience); strings.Count(s.log.String(), warning) < len(lost) && time.Now().Before(deadline); {
		time.Sleep(10 * time.Millisecond)
	}
	sum := 0
	for _, n := range lost {
		if sum += n; !strings.Contains(s.log.String(), fmt.Sprintf(" entries=%d ", n)) {
			s.Errorf("the log does not say %d: %s", n, s.log)
		}
	}
	if n := strings.Count(s.log.String(), warning); n != len(lost) {
		s.Errorf("said %d times, want %d: %s", n, len(lost), s.log)
	}
	var all metricdata.ResourceMetrics
	if err := s.reader.Collect(s.Context(), &all); err != nil {
		s.Fatal(err)
	}
	if got := all.ScopeMetrics[0].Metrics[0].Data.(metricdata.Sum[int64]).DataPoints[0].Value; got != int64(sum) {
		s.Errorf("headrace.redis.lost is %d, want %d", got, sum)
	}
}

// Entries that were trimmed before the group has read them are said, with their number, and
// once: while no source runs, and while one is busy; a later process does not say it again.
// What was read before it is trimmed is not lost. Guard: lost.lua.
func TestTrimmedUnread(t *testing.T) {
	s := newTrimmed(t)
	s.fill(20, 0)
	first := s.source(s.options)
	s.take(s.subscribe(first), 20)
	if err := first.Close(); err != nil {
		t.Fatal(err)
	}
	s.fill(300, 100) // the 20 are read; of these 200 are gone
	second := s.source(s.options)
	messages := s.subscribe(second)
	s.take(messages, 100)
	s.said(200)
	s.fill(30, 0)
	var busy []*message.Message
	for range 10 { // as many as it may hold
		busy = append(busy, s.next(messages))
	}
	s.fill(200, 50) // of the other 220
	for _, m := range busy {
		m.Ack()
	}
	s.take(messages, 50)
	s.said(200, 170)
	if err := s.client.XTrimMaxLen(t.Context(), s.topic, 0).Err(); err != nil {
		t.Fatal(err)
	}
	s.fill(1, 0)
	s.take(messages, 1)
	if err := second.Close(); err != nil {
		t.Fatal(err)
	}
	s.fill(20, 5)
	s.take(s.subscribe(s.source(s.options)), 5)
	s.said(200, 170, 15)
}
