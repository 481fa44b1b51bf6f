package redis_test

import (
	"bytes"
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	goredis "github.com/redis/go-redis/v9"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace/broker/brokertest"
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
	for up := int64(0); up < 5; { // what a group has read sooner after a restart is not believed
		info, err := s.client.InfoMap(t.Context(), "server").Result()
		if err != nil {
			t.Fatal(err)
		}
		if up, err = strconv.ParseInt(info["Server"]["uptime_in_seconds"], 10, 64); err != nil {
			t.Fatal(err)
		}
		time.Sleep(100 * time.Millisecond)
	}
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
	for deadline := time.Now().Add(waitTimeout); strings.Count(s.log.String(), warning) < len(lost) && time.Now().Before(deadline); {
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

// counted waits until Redis counts so many entries as read by the group.
func (s *trimmed) counted(n int64) {
	s.Helper()
	for deadline := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		groups, err := s.client.XInfoGroups(s.Context(), s.topic).Result()
		if err != nil {
			s.Fatal(err)
		}
		if len(groups) == 1 && groups[0].EntriesRead == n {
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("%+v, want %d read", groups, n)
		}
	}
}

// A restart is no loss, though Redis has forgotten how much the group has read: neither for a
// process that runs meanwhile, nor for one that starts later. What is lost afterwards is said.
// Guard: lost.lua.
func TestRestartIsNoLoss(t *testing.T) {
	for name, running := range map[string]bool{"a process runs": true, "none runs": false} {
		t.Run(name, func(t *testing.T) {
			s := newTrimmed(t)
			s.fill(20, 0)
			source := s.source(s.options)
			messages := s.subscribe(source)
			s.take(messages, 20)
			s.emptied()
			if !running {
				if err := source.Close(); err != nil {
					t.Fatal(err)
				}
			}
			brokertest.Alone(t)
			if err := brokertest.Restart(t.Context(), "redis"); err != nil {
				t.Fatal(err)
			}
			if !running {
				messages = s.subscribe(s.source(s.options))
			}
			s.fill(1, 0)
			s.take(messages, 1)
			s.emptied()
			s.counted(21)
			if strings.Contains(s.log.String(), "entries were removed") {
				t.Errorf("a restart is said to be a loss: %s", s.log)
			}
			s.fill(20, 5)
			s.take(messages, 5)
			for deadline := time.Now().Add(waitTimeout); !strings.Contains(s.log.String(), "entries were removed"); time.Sleep(10 * time.Millisecond) {
				if time.Now().After(deadline) {
					t.Fatal("what was lost after the restart is not said")
				}
			}
		})
	}
}
