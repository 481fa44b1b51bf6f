package amqp

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/internal/flow"
)

// SourceOptions configure a Source. Server.URL is required.
type SourceOptions struct {
	Server
	Topology

	// Prefetch is how many deliveries of one subscription are under way at once,
	// including those that wait here. More than Config.MaxInFlight of the consumer is
	// useless. Default 256, at most 65,535.
	Prefetch int
	// NackPause is the shortest wait before a message that was given back is requeued:
	// the broker delivers it again at once. Default 100 ms.
	NackPause time.Duration
	// PauseHold is how long fetched messages are kept while the subscription is paused;
	// then they are given back, which a quorum queue counts as a delivery. Default 1 min.
	PauseHold time.Duration
	// MissingGrace is how long a subscription waits for a queue that has disappeared (its
	// node may be starting), before it ends. Default 30 s.
	MissingGrace time.Duration

	// Management is the URL of the broker's management API,
	// http://user:password@host:15672. Check reads from it the limits of the queue, and
	// whether it loses messages. The URL never appears in a log or an error. Default "":
	// Check uses Topology and ConsumerTimeout, and does not see losses.
	Management string
	// UnsafeLossy lets Check accept a queue that, by Management, loses messages which the
	// broker has confirmed: it is not durable, is deleted with them, or drops them by age
	// or length.
	UnsafeLossy bool
	// ConsumerTimeout is the broker's consumer_timeout: it closes the channel of a client
	// that has not settled a message by then. The protocol does not show it. Unlimited:
	// it has none. Default 30 min, the broker's own.
	ConsumerTimeout time.Duration
	// KeptFor is the longest time for which a message can come again: it may wait in the
	// queue, which only a TTL bounds, and a person may put it back. Retention returns it;
	// the broker does not show it. Default 0: unknown.
	KeptFor time.Duration
}

func (o SourceOptions) withDefaults() SourceOptions {
	o.Server, o.Topology = o.Server.withDefaults(), o.Topology.withDefaults()
	set(&o.Prefetch, 256)
	set(&o.NackPause, 100*time.Millisecond)
	set(&o.PauseHold, time.Minute)
	set(&o.MissingGrace, 30*time.Second)
	set(&o.ConsumerTimeout, 30*time.Minute)
	return o
}

// day is the longest pause that is no mistake.
const day = 24 * time.Hour

func (o SourceOptions) validate() error {
	if err := errors.Join(o.Server.validate(), o.Topology.validate()); err != nil {
		return err
	}
	if o.Prefetch < 0 || o.Prefetch > 1<<16-1 {
		return fmt.Errorf("option SourceOptions.Prefetch is %d: it may be 1 to 65,535, and 0 gives the default", o.Prefetch)
	}
	if u, err := url.Parse(o.Management); o.Management != "" && (err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https") {
		return errors.New("option SourceOptions.Management is no URL: give http://user:password@host:15672")
	}
	consumerTimeout := o.ConsumerTimeout
	if consumerTimeout == Unlimited {
		consumerTimeout = 0
	}
	return flow.Times(
		flow.Time{Name: "SourceOptions.NackPause", Value: o.NackPause, Most: day}, flow.Time{Name: "SourceOptions.PauseHold", Value: o.PauseHold, Most: day},
		flow.Time{Name: "SourceOptions.MissingGrace", Value: o.MissingGrace, Most: day}, flow.Time{Name: "SourceOptions.KeptFor", Value: o.KeptFor, Most: 36500 * day},
		flow.Time{Name: "SourceOptions.ConsumerTimeout", Value: consumerTimeout, Most: 365 * day},
	)
}

// Source delivers the messages of queues: a Watermill Subscriber that is also a
// consumer.Checker, a consumer.HealthReporter and a consumer.Pauser. It is safe for
// concurrent use.
type Source struct {
	o     SourceOptions
	link  *link
	owned sync.WaitGroup
	subs  flow.Subscriptions[*subscription]

	mu     sync.Mutex
	closed bool
	paused map[string]bool // topics
}

// NewSource returns a source, without connecting. The error names the invalid option.
func NewSource(o SourceOptions) (*Source, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("amqp: %w", err)
	}
	o = o.withDefaults()
	return &Source{o: o, link: newLink(o.Server), paused: make(map[string]bool)}, nil
}

// Subscribe consumes the queue of topic. It returns when the broker has accepted the
// subscription. If the broker is away or does not answer, the error matches
// consumer.ErrUnavailable. Messages come in the order of the queue, up to Prefetch of them
// before the first is settled. Each is settled separately.
//
// The channel is closed when ctx ends, with Close, and when the queue is gone or can no
// longer be read, which is logged. The broker then redelivers unsettled messages to other
// consumers. A lost connection is made again, and messages under way come again.
func (s *Source) Subscribe(ctx context.Context, topic string) (<-chan *message.Message, error) {
	p, err := s.o.place(topic)
	if err != nil {
		return nil, fmt.Errorf("amqp: %w", err)
	}
	sub, err := s.add(ctx, topic, p)
	if err != nil {
		return nil, err
	}
	first, err := sub.begin()
	if err != nil {
		s.remove(sub)
		return nil, fmt.Errorf("amqp: subscribe: %w", err)
	}
	s.owned.Go(func() {
		defer s.remove(sub)
		sub.run(first)
	})
	return sub.out, nil
}

// SubscribeInitialize implements message.SubscribeInitializer: it makes the queue of
// topic and its binding if Topology.Declare is set, and otherwise checks that it exists.
func (s *Source) SubscribeInitialize(topic string) error {
	p, err := s.o.place(topic)
	if err != nil {
		return fmt.Errorf("amqp: %w", err)
	}
	if _, err = s.prepare(s.link.life, p); err != nil {
		return fmt.Errorf("amqp: %w", waitable(err))
	}
	return nil
}

// prepare makes sure that the queue of p exists, and returns the broker's version.
func (s *Source) prepare(ctx context.Context, p place) (version, error) {
	conn, err := s.link.get(ctx)
	if err != nil {
		return version{}, err
	}
	v := versionOf(conn)
	return v, s.link.within(ctx, conn, func(ch *amqp091.Channel) error { return s.o.prepare(ch, p, v) })
}

func (s *Source) add(ctx context.Context, topic string, p place) (*subscription, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	sub := &subscription{
		source: s, place: p, out: make(chan *message.Message), changed: make(chan struct{}, 1),
	}
	sub.ctx, sub.cancel = context.WithCancel(ctx)
	sub.paused.Store(s.paused[topic])
	s.subs.Add(topic, sub)
	return sub, nil
}

func (s *Source) remove(sub *subscription) {
	sub.cancel()
	s.subs.Remove(sub)
}

// ChangedByRedelivery implements consumer.Redeliverer: the broker counts deliveries, and
// says from which queues a message was dead-lettered before.
func (s *Source) ChangedByRedelivery(header string) bool {
	switch header {
	case RedeliveredKey, "x-delivery-count", "x-acquired-count", "x-death":
		return true
	}
	return strings.HasPrefix(header, "x-first-death-") || strings.HasPrefix(header, "x-last-death-")
}

// Pause implements consumer.Pauser: the broker stops delivering.
func (s *Source) Pause(topic string) { s.setPaused(topic, true) }

// Resume implements consumer.Pauser.
func (s *Source) Resume(topic string) { s.setPaused(topic, false) }

func (s *Source) setPaused(topic string, paused bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.paused[topic] == paused {
		return
	}
	s.paused[topic] = paused
	for _, sub := range s.subs.To(topic) {
		sub.setPaused(paused)
	}
}

// Retention returns SourceOptions.KeptFor.
func (s *Source) Retention() time.Duration { return s.o.KeptFor }

// Close ends every subscription and the connection, and waits for that. It may be called
// more than once.
func (s *Source) Close() error {
	s.mu.Lock()
	s.closed = true
	for _, sub := range s.subs.All() {
		sub.cancel()
	}
	s.mu.Unlock()
	s.owned.Wait()
	s.link.close()
	return nil
}
