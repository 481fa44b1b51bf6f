package webhook

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace/consumer"
)

// Source is a message.Subscriber that is fed by HTTP requests. It is safe for concurrent
// use. It implements consumer.Checker and consumer.Pauser.
type Source struct {
	o        Options
	slots    chan struct{} // one for each request that waits
	requests metric.Int64Counter
	closed   chan struct{}
	running  sync.WaitGroup

	mu        sync.Mutex
	ended     bool
	endpoints map[string][]*endpoint   // by topic
	open      map[string]*subscription // by topic
	paused    map[string]bool          // by topic
}

// subscription is an open one.
type subscription struct {
	ctx     context.Context
	out     chan *message.Message
	done    chan struct{}  // closed when it ends
	senders sync.WaitGroup // requests that may send to out
}

// NewSource returns a source without endpoints. The error names the invalid option.
func NewSource(o Options) (*Source, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	o = o.withDefaults()
	s := &Source{
		o: o, slots: make(chan struct{}, o.MaxInFlight), closed: make(chan struct{}), endpoints: make(map[string][]*endpoint),
		open: make(map[string]*subscription), paused: make(map[string]bool),
	}
	var err error
	s.requests, err = o.MeterProvider.Meter("github.com/headrace/headrace/webhook").Int64Counter("headrace.webhook.requests",
		metric.WithUnit("{request}"), metric.WithDescription("Requests to endpoints, by topic and status code."))
	if err != nil {
		return nil, fmt.Errorf("webhook: option MeterProvider: %w", err)
	}
	return s, nil
}

// Endpoint returns the handler of a URL, whose requests become messages of topic once v
// has let them pass. A topic may have several. Call it before the consumer's Run, which
// returns the mistakes in v.
func (s *Source) Endpoint(topic string, v Verifier) http.Handler {
	e := &endpoint{source: s, topic: topic, verifier: v, keep: kept(slices.Concat([]string{"Content-Type"}, v.Headers, s.o.Headers))}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.endpoints[topic] = append(s.endpoints[topic], e)
	return e
}

func kept(headers []string) []string {
	for i, name := range headers {
		headers[i] = http.CanonicalHeaderKey(name)
	}
	slices.Sort(headers)
	return slices.Compact(headers)
}

// Check implements consumer.Checker: it returns an error for a topic without an endpoint,
// for a mistake in a Verifier, and if the sender signs the body alone and the handler has
// no key of its own.
func (s *Source) Check(_ context.Context, topic string, d consumer.Demands) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	list := s.endpoints[topic]
	if len(list) == 0 {
		return fmt.Errorf("webhook: topic %q has no endpoint: call Source.Endpoint before Run", topic)
	}
	for _, e := range list {
		if err := e.verifier.mistake(); err != nil {
			return fmt.Errorf("webhook: topic %q: %w", topic, err)
		}
		if e.verifier.BodyOnly && !d.OwnKey {
			return fmt.Errorf("webhook: the sender of topic %q signs the body alone, so that an old request passes under a new id: give the handler a key made of the body, as consumer.Key(inbox.JSON(\"id\"))", topic)
		}
	}
	return nil
}

// ErrSubscribed matches the error of a second Subscribe for a topic whose subscription is
// open: each would get some of the messages.
var ErrSubscribed = errors.New("the topic has a subscription")

// ErrClosed matches the error of Subscribe after Close.
var ErrClosed = errors.New("the source is closed")

// Subscribe implements message.Subscriber. Until ctx ends, or Close, requests to the
// topic's endpoints are handed over.
func (s *Source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil, fmt.Errorf("webhook: topic %q: %w", topic, ErrClosed)
	}
	if s.open[topic] != nil {
		return nil, fmt.Errorf("webhook: topic %q: %w", topic, ErrSubscribed)
	}
	sub := &subscription{ctx: ctx, out: make(chan *message.Message), done: make(chan struct{})}
	s.open[topic] = sub
	s.running.Go(func() {
		select {
		case <-ctx.Done():
		case <-s.closed:
		}
		s.mu.Lock()
		delete(s.open, topic)
		s.mu.Unlock()
		close(sub.done)
		sub.senders.Wait()
		close(sub.out)
	})
	return sub.out, nil
}

// enter returns the open subscription of a topic, whose senders the caller has joined; nil
// if there is none or it is paused.
func (s *Source) enter(topic string) *subscription {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.open[topic]
	if sub == nil || s.paused[topic] {
		return nil
	}
	sub.senders.Add(1)
	return sub
}

// Pause implements consumer.Pauser: requests to the topic's endpoints are answered 503.
func (s *Source) Pause(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.paused[topic] = true
}

// Resume implements consumer.Pauser.
func (s *Source) Resume(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.paused, topic)
}

// Retention is Options.Retention, for the consumer's pruning.
func (s *Source) Retention() time.Duration { return s.o.Retention }

// Close ends the subscriptions, and returns when they have ended. From then on requests are
// answered 503. A request whose message was handed over still waits for its commit. A
// second call does nothing.
func (s *Source) Close() error {
	s.mu.Lock()
	if !s.ended {
		s.ended = true
		close(s.closed)
	}
	s.mu.Unlock()
	s.running.Wait()
	return nil
}
