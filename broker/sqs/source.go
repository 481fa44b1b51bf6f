package sqs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

// ErrClosed matches the error of Subscribe after Close.
var ErrClosed = errors.New("sqs: the source is closed")

// Source receives from SQS. It is a Watermill Subscriber that is also a consumer.Checker,
// a consumer.HealthReporter and a consumer.Pauser. Its methods may be called concurrently.
type Source struct {
	o       SourceOptions
	closing context.Context
	close   context.CancelFunc
	running sync.WaitGroup
	gone    time.Duration // how long a queue may be missing
	gates   flow.Gates
	subs    flow.Subscriptions[*subscription]

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
		return nil, fmt.Errorf("sqs: %w", err)
	}
	s := &Source{o: o.withDefaults(), gone: goneTimeout, wanted: map[string]int{}}
	s.closing, s.close = context.WithCancel(context.Background())
	return s, nil
}

// Subscribe begins to receive from the topic's queue, which must exist. The channel is
// closed when ctx ends, the Source is closed, or the queue is gone for half a minute. Unsettled messages
// are then given back.
func (s *Source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	asked, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	l, err := s.limits(asked, topic)
	if err == nil {
		err = l.usable()
	}
	if err != nil {
		return nil, fmt.Errorf("sqs: %w", reach(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	u := newSubscription(s, ctx, l, cmp.Or(s.o.InFlight, max(512, s.wanted[topic])))
	u.gate = s.gates.Of(topic)
	s.subs.Add(topic, u)
	s.running.Go(func() {
		defer s.subs.Remove(u)
		u.run()
	})
	return u.out, nil
}

// Close ends all subscriptions and waits for their goroutines: for SQS to record
// settlements, at most CloseTimeout. It may be called again.
func (s *Source) Close() error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// Pause stops receiving topic. A call under way may still return messages: these, and
// those not handed over, are given back to SQS at once.
func (s *Source) Pause(topic string) { s.gates.Of(topic).Shut() }

// Resume ends Pause.
func (s *Source) Resume(topic string) { s.gates.Of(topic).Open() }

// Retention is the longest time for which a queue can deliver a message again:
// SourceOptions.Retention, which Check has compared with the queues.
func (s *Source) Retention() time.Duration { return s.o.Retention }
