package consumer_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/metric/metricdata"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/memsource"
)

// awaySource is a source whose broker a test takes away and brings back.
type awaySource struct {
	*memsource.Source
	away    atomic.Bool
	refuses atomic.Bool
}

var errAway = errors.New("connection refused")

func (s *awaySource) Check(context.Context, string, consumer.Demands) error {
	switch {
	case s.refuses.Load():
		return errBoom
	case s.away.Load():
		return fmt.Errorf("%w: %w", consumer.ErrUnavailable, errAway)
	}
	return nil
}

func (s *awaySource) Healthy(context.Context, string) error {
	if s.away.Load() {
		return errAway
	}
	return nil
}

var _ message.Subscriber = (*awaySource)(nil)

// alerted waits for the next alert, which must be of a source and in this phase.
func alerted(b *bundle, told <-chan alerts.Alert, want alerts.Phase) {
	b.Helper()
	select {
	case a := <-told:
		if a.Kind != alerts.SourceDown || a.Phase != want || !strings.Contains(a.Text, topic) {
			b.Fatalf("%s %s: %s, want %s", a.Kind, a.Phase, a.Text, want)
		}
	case <-time.After(time.Minute):
		b.Fatalf("no source is %s", want)
	}
}

// A broker that is away at the start is waited for like one that goes away later: the
// consumer is alive and not ready, says why, and goes on by itself.
func TestBrokerIsAway(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	src := &awaySource{Source: b.src}
	told := make(chan alerts.Alert, 10)
	config := b.config()
	config.Source = src
	config.Alert = func(_ context.Context, a alerts.Alert) error { told <- a; return nil }
	config.Alerts.Quiet = time.Second
	src.away.Store(true)
	c := b.consumer(config)
	consumer.Handle(c, topic, insert)
	b.start(c)
	for n := range 2 { // at the start, and later
		b.eventually("Ready says why", func() bool {
			err := c.Ready()
			return errors.Is(err, errAway) && strings.Contains(err.Error(), topic) && c.Alive() == nil
		})
		if s := c.Subscriptions()[0]; !errors.Is(s.Err, errAway) {
			b.Errorf("%+v", s)
		}
		alerted(b, told, alerts.Firing)
		src.away.Store(false)
		alerted(b, told, alerts.Resolved)
		b.eventually("it is ready", func() bool { return c.Ready() == nil })
		b.acked(b.deliver(fmt.Sprint(n), `{}`))
		src.away.Store(true)
	}
	must(b, b.halt())
}

// countingSource says how many messages wait.
type countingSource struct {
	*memsource.Source
	waiting atomic.Int64 // negative: unknown
}

func (s *countingSource) Lag(context.Context, string) (int64, error) {
	if n := s.waiting.Load(); n >= 0 {
		return n, nil
	}
	return 0, errAway
}

// The gauge shows how many messages wait at the broker, and nothing when that is not known.
func TestLag(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	src := &countingSource{Source: b.src}
	src.waiting.Store(7)
	reader := sdkmetric.NewManualReader()
	config := b.config()
	config.Source, config.MeterProvider = src, sdkmetric.NewMeterProvider(sdkmetric.WithReader(reader))
	c := b.consumer(config)
	consumer.Handle(c, topic, insert)
	b.start(c)
	lag := func() (n int64, shown bool) {
		var all metricdata.ResourceMetrics
		must(b, reader.Collect(b.Context(), &all))
		for _, scope := range all.ScopeMetrics {
			for _, m := range scope.Metrics {
				if gauge, ok := m.Data.(metricdata.Gauge[int64]); ok && m.Name == "headrace.source.lag" {
					return gauge.DataPoints[0].Value, true
				}
			}
		}
		return 0, false
	}
	b.eventually("the lag", func() bool { n, _ := lag(); return n == 7 })
	src.waiting.Store(-1)
	b.eventually("no lag", func() bool { _, shown := lag(); return !shown })
	must(b, b.halt())
}

// What the broker refuses ends Run, also if it was away before.
func TestBrokerRefusesLater(t *testing.T) {
	t.Parallel()
	b := setupSQLite(t)
	src := &awaySource{Source: b.src}
	src.away.Store(true)
	config := b.config()
	config.Source = src
	c := b.consumer(config)
	consumer.Handle(c, topic, insert)
	b.start(c)
	b.eventually("it waits", func() bool { return errors.Is(c.Ready(), errAway) })
	src.refuses.Store(true)
	if err := b.wait(); !errors.Is(err, errBoom) {
		t.Errorf("Run: %v", err)
	}
}
