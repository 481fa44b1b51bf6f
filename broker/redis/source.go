package redis

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

// ErrClosed matches the error of Subscribe after Close.
var ErrClosed = errors.New("redis: the source is closed")

// askTime bounds the requests for data about a server or a stream.
const askTime = 10 * time.Second

// Source reads streams as one of a group's consumers. It is a Watermill Subscriber that
// is also a consumer.Checker, a consumer.HealthReporter and a consumer.Pauser. Its methods
// may be called concurrently.
type Source struct {
	o       SourceOptions
	closing context.Context
	close   context.CancelFunc
	running sync.WaitGroup
	gates   flow.Gates
	subs    flow.Subscriptions[*subscription]
	lost    metric.Int64Counter

	mu     sync.Mutex
	wanted map[string]int // Demands.InFlight of a topic's handlers
}

var (
	_ message.Subscriber      = (*Source)(nil)
	_ consumer.Checker        = (*Source)(nil)
	_ consumer.HealthReporter = (*Source)(nil)
	_ consumer.Pauser         = (*Source)(nil)
)

// NewSource returns a Source. It does not connect; the error names the invalid option.
func NewSource(o SourceOptions) (*Source, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	s := &Source{o: o.withDefaults(), wanted: map[string]int{}}
	var err error
	s.lost, err = s.o.MeterProvider.Meter("github.com/headrace/headrace/broker/redis").Int64Counter("headrace.redis.lost",
		metric.WithDescription("Entries that were removed from a stream before the group had read them."), metric.WithUnit("{entry}"))
	if err != nil {
		return nil, fmt.Errorf("redis: option SourceOptions.MeterProvider: %w", err)
	}
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Subscribe begins to read the topic's stream; it makes a missing group, and the stream
// with it. The channel is closed when ctx ends or the Source is closed. Unsettled entries
// are then given back.
func (s *Source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	stream, err := streamOf(topic, s.o.Stream, "SourceOptions")
	if err != nil {
		return nil, fmt.Errorf("redis: %w", err)
	}
	u := newSubscription(s, stream, s.window(topic))
	asked, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if err := u.makeGroup(asked); err != nil {
		return nil, fmt.Errorf("redis: %w", reach(err))
	}
	if err := u.sweep(asked, namePrefix, sweepAfter); err != nil {
		return nil, fmt.Errorf("redis: %w", reach(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	u.ctx, u.cancel = context.WithCancel(ctx)
	u.gate = s.gates.Of(topic)
	s.subs.Add(topic, u)
	s.running.Go(func() {
		defer s.subs.Remove(u)
		u.run()
	})
	return u.out, nil
}

// streamOf returns the key of a topic's stream. Redis would accept "" as a key, but that
// is a mistake.
func streamOf(topic string, name func(string) string, options string) (string, error) {
	stream := name(topic)
	if stream == "" {
		return "", fmt.Errorf("topic %q has no stream: name one, with the topic or with option %s.Stream", topic, options)
	}
	return stream, nil
}

func (s *Source) window(topic string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(s.o.InFlight, max(512, s.wanted[topic]))
}

// Close ends all subscriptions and waits for their goroutines: for a read under way
// (Block), and for Redis to record settlements, at most CloseTimeout. If Redis is silent it
// takes up to the client's timeouts longer, which are 10 s beside Block for a read. It may
// be called again.
func (s *Source) Close() error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// Pause stops reading topic. A read under way may still return entries: these, and those
// not handed over, are given back at once.
func (s *Source) Pause(topic string) { s.gates.Of(topic).Shut() }

// Resume ends Pause.
func (s *Source) Resume(topic string) { s.gates.Of(topic).Open() }

// Retention is SourceOptions.Retention; 0 if it is unknown.
func (s *Source) Retention() time.Duration { return s.o.Retention }
