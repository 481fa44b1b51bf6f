package kafka

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/internal/flow"
)

// ErrClosed matches the error of a closed Source or Sink.
var ErrClosed = errors.New("closed")

// Source is a Watermill Subscriber over a consumer group. It is safe for concurrent use.
type Source struct {
	options SourceOptions
	closing context.Context
	shut    context.CancelFunc
	running sync.WaitGroup
	subs    flow.Subscriptions[*subscription]
	gone    time.Duration // how long a topic may be missing

	mu        sync.Mutex
	closed    bool
	sessions  map[*session]struct{}
	paused    map[string]bool
	ackWait   map[string]time.Duration // the longest Demands.AckWait of a topic's handlers
	retention map[string]time.Duration // by topic, after the first request
}

// NewSource returns a Source. It does not connect. The error names the invalid option.
func NewSource(o SourceOptions) (*Source, error) {
	if err := errors.Join(o.validate(), refuse(o.Client, ownedBySource)); err != nil {
		return nil, fmt.Errorf("kafka: source: %w", err)
	}
	s := &Source{
		options: o.withDefaults(), sessions: make(map[*session]struct{}), paused: make(map[string]bool),
		ackWait: make(map[string]time.Duration), retention: make(map[string]time.Duration), gone: goneTimeout,
	}
	s.closing, s.shut = context.WithCancel(context.Background())
	return s, nil
}

// Subscribe joins the group for topic as one more member, and returns the channel of its
// partitions' records. It does not wait for a broker. The channel is closed when ctx has
// ended or Close was called, and handed over records are settled or CloseTimeout has
// passed. It is also closed after a broker's error that only a person can fix, or half a
// minute after the topic was deleted, which is logged. While brokers are unreachable it
// retries.
func (s *Source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	if topic == "" {
		return nil, errors.New("kafka: subscribe: the topic is empty")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, fmt.Errorf("kafka: subscribe to %q: %w", topic, ErrClosed)
	}
	sub := &subscription{source: s, topic: topic, out: make(chan *message.Message)}
	sub.log = &outage{log: s.options.Logger.With("topic", topic, "group", s.options.Group)}
	first, err := sub.open(ctx)
	if err != nil {
		return nil, fmt.Errorf("kafka: subscribe to %q: %w", topic, err)
	}
	s.join(first)
	s.subs.Add(topic, sub)
	s.running.Go(func() { sub.run(ctx, first) })
	return sub.out, nil
}

// Close ends every subscription in the same way as the end of its context, and waits for
// them. It may be called again.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.shut()
	s.running.Wait()
	return nil
}

// Pause stops the client from fetching topic, until Resume. Records fetched before may
// still be handed over, and a paused member stays in its group.
func (s *Source) Pause(topic string) { s.pause(topic, true) }

// Resume ends Pause.
func (s *Source) Resume(topic string) { s.pause(topic, false) }

func (s *Source) pause(topic string, stop bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused[topic] == stop {
		return
	}
	s.paused[topic] = stop
	for member := range s.sessions {
		if member.topic == topic {
			member.pause(stop)
		}
	}
}

func (s *session) pause(stop bool) {
	if stop {
		s.client.PauseFetchTopics(s.topic)
	} else {
		s.client.ResumeFetchTopics(s.topic)
	}
}

// join adds a session, so that Pause affects it. s.mu is held.
func (s *Source) join(member *session) {
	s.sessions[member] = struct{}{}
	if s.paused[member.topic] {
		member.pause(true)
	}
}

func (s *Source) leave(member *session) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.sessions, member)
}
