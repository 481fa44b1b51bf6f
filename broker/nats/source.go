package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

// ErrClosed matches the error of calls of a closed Source or Sink.
var ErrClosed = errors.New("nats: closed")

// Source delivers the messages of streams to a consumer. It is safe for concurrent use.
type Source struct {
	o      SourceOptions
	link   *link
	finder finder
	subs   flow.Subscriptions[*subscription]

	mu        sync.Mutex
	closed    bool
	paused    map[string]bool
	retention map[string]time.Duration // by topic, after the first request
	running   sync.WaitGroup
}

var (
	_ message.Subscriber           = (*Source)(nil)
	_ message.SubscribeInitializer = (*Source)(nil)
	_ consumer.Pauser              = (*Source)(nil)
	_ consumer.HealthReporter      = (*Source)(nil)
)

// NewSource connects to the server. If the server is away, it returns a Source that goes
// on connecting; calls return an error that matches consumer.ErrUnavailable meanwhile. The
// error names the invalid option, or is the server's refusal.
func NewSource(o SourceOptions) (*Source, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("nats.NewSource: %w", err)
	}
	o = o.withDefaults()
	l, err := connect(o.Server)
	if err != nil {
		return nil, fmt.Errorf("nats.NewSource: %w", err)
	}
	return &Source{
		o: o, link: l, finder: finder{js: l.js, stream: o.Stream, provision: o.Provision, unsafeMemory: o.UnsafeMemory, unsafeDiscard: o.UnsafeDiscard},
		paused: make(map[string]bool), retention: make(map[string]time.Duration),
	}, nil
}

// SubscribeInitialize implements message.SubscribeInitializer: it makes the stream, if
// Provision is set, and the consumer on the server, if they are missing.
func (s *Source) SubscribeInitialize(topic string) error {
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	_, _, err := s.ready(ctx, topic)
	return s.link.reason(ctx, err)
}

// Subscribe implements message.Subscriber. It looks up the stream and makes the consumer
// if there is none, which takes a few round trips; if the server is away or does not
// answer, the error matches consumer.ErrUnavailable. Messages come until ctx ends or the
// Source is closed; then the channel is closed. It is closed earlier only if the consumer
// on the server, its stream or the connection is finally gone. The caller may settle each
// message at any time; its context ends after that.
func (s *Source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	look, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	config, st, err := s.ready(look, topic)
	if err != nil {
		return nil, s.link.reason(ctx, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	b, err := newSubscription(ctx, s, topic, st, config)
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	b.paused.Store(s.paused[topic])
	s.subs.Add(topic, b)
	s.running.Go(func() {
		defer s.subs.Remove(b)
		b.run()
	})
	return b.out, nil
}

// Pause implements consumer.Pauser: the source requests no more messages, and gives back
// those not handed over. Messages requested before may still arrive within two seconds,
// and are given back as well.
func (s *Source) Pause(topic string) { s.pause(topic, true) }

// Resume implements consumer.Pauser.
func (s *Source) Resume(topic string) { s.pause(topic, false) }

func (s *Source) pause(topic string, on bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[topic] = on
	for _, b := range s.subs.To(topic) {
		b.paused.Store(on)
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
}

// TopicRetention is the longest time for which the stream of topic can deliver a message
// again, its MaxAge. It is 0, which means unknown, if there is no MaxAge, the stream does
// not exist yet, or the server is away or does not answer within ten seconds.
func (s *Source) TopicRetention(topic string) time.Duration {
	s.mu.Lock()
	known, asked := s.retention[topic]
	s.mu.Unlock()
	if asked {
		return known
	}
	ctx, cancel := context.WithTimeout(context.Background(), lookTime)
	defer cancel()
	if s.link.answers(ctx) != nil {
		return 0
	}
	st, err := s.finder.look(ctx, topic)
	if err != nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retention[topic] = st.CachedInfo().Config.MaxAge
	return s.retention[topic]
}

// Close implements message.Subscriber: it ends all subscriptions, gives back unsettled
// messages, and waits for both, for some seconds at most if the server does not answer.
// It may be called twice.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, b := range s.subs.All() {
		b.cancel()
	}
	s.mu.Unlock()
	s.running.Wait()
	s.link.close()
	return nil
}
