package webhook

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"go.opentelemetry.io/otel/metric"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/header"
)

// ErrClosed matches the error of Subscribe after Close.
var ErrClosed = errors.New("webhook: the source is closed")

// Source gives a consumer the requests of its endpoints. It is a Watermill Subscriber that
// is also a consumer.Checker, a consumer.Registrar and a consumer.Pauser. Its methods may be called concurrently.
type Source struct {
	o        Options
	mistake  error // in Options and of endpoints; once it has started it changes no more
	closing  context.Context
	close    context.CancelFunc
	running  sync.WaitGroup // goroutines of subscriptions
	slots    chan struct{}  // holds a token for each request under way
	requests metric.Int64Counter

	mu      sync.Mutex
	topics  map[string]*topic
	started bool // a consumer runs, or has run
}

var (
	_ message.Subscriber = (*Source)(nil)
	_ consumer.Checker   = (*Source)(nil)
	_ consumer.Registrar = (*Source)(nil)
	_ consumer.Pauser    = (*Source)(nil)
)

// topic is what a Source knows of a topic. Source.mu protects it.
type topic struct {
	mistake  error    // of an endpoint that was registered after the start
	exposed  bool     // an endpoint verifies the body alone
	served   bool     // there is an endpoint
	handled  bool     // a handler is registered
	headers  []string // that are stored
	ownKey   bool     // Check has seen a handler whose key is made from the body
	unstored string   // a header that the handler's key is made from, and that is not stored
	bound    bool     // there was a subscription
	paused   chan struct{}
	isPaused bool
	subs     []*subscription
	refusals []*refusals // of its endpoints
}

// NewSource returns a Source without endpoints. A mistake in o is an error of the
// consumer's Run, and of Subscribe.
func NewSource(o Options) *Source {
	s := &Source{mistake: o.validate(), topics: map[string]*topic{}}
	s.o = o.withDefaults()
	s.closing, s.close = context.WithCancel(context.Background())
	if s.mistake != nil {
		return s
	}
	s.slots = make(chan struct{}, s.o.MaxInFlight)
	var err error
	s.requests, err = s.o.MeterProvider.Meter("github.com/headrace/headrace/webhook").Int64Counter("headrace.webhook.requests",
		metric.WithDescription("Requests to endpoints of webhooks, by the status of the answer."), metric.WithUnit("{request}"))
	if err != nil {
		s.mistake = fmt.Errorf("option Options.MeterProvider: %w", err)
	}
	return s
}

// topic returns the topic of that name, always the same. The caller holds s.mu.
func (s *Source) topic(name string) *topic {
	t := s.topics[name]
	if t == nil {
		t = &topic{paused: make(chan struct{})}
		s.topics[name] = t
	}
	return t
}

// Registered records that the topic has a handler.
func (s *Source) Registered(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.topic(name).handled = true
}

// Check returns an error if the topic has no endpoint, an endpoint has a mistake, or the
// signatures of one cover the body alone and the handler's key is made from the id or a
// header, or the key needs a header that is not stored. It does not block. The consumer calls it at the start. The first call logs the
// endpoints whose topics no handler takes.
func (s *Source) Check(_ context.Context, name string, d consumer.Demands) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	t := s.topic(name)
	t.handled, t.ownKey, t.unstored = true, ofBody(d.Key, name, t.headers), unstored(d.Key, name, t.headers)
	if err := s.refusal(name, t); err != nil {
		return fmt.Errorf("webhook: %w", err)
	}
	if !s.started {
		s.warnUnhandled()
	}
	s.started = true
	return nil
}

// warnUnhandled logs the endpoints whose topics no handler takes. The caller holds s.mu.
func (s *Source) warnUnhandled() {
	for _, name := range slices.Sorted(maps.Keys(s.topics)) {
		if t := s.topics[name]; t.served && !t.handled && !t.bound { // a Router does not register
			s.o.Logger.Warn("no handler takes the topic of a webhook endpoint, which answers 503: register one, or correct the topic", "topic", name)
		}
	}
}

// ofBody reports whether the key function makes the same key of one body under other ids and
// headers, as far as a body without members shows.
func ofBody(key inbox.KeyFunc, topic string, headers []string) bool {
	if key == nil {
		return false
	}
	under := func(text string) string {
		k, _ := inbox.Resolve(key, probe(text, topic, headers)) // a body without its members has no key
		return k
	}
	return under("1") == under("2")
}

// unstored returns a header without which the key function makes no key, and that no request has
// when it is stored; "" if it finds none.
func unstored(key inbox.KeyFunc, topic string, headers []string) string {
	if key == nil {
		return ""
	}
	_, err := inbox.Resolve(key, probe("1", topic, headers))
	if missing, ok := errors.AsType[*header.Missing](err); ok {
		return missing.Name
	}
	return ""
}

// probe is a delivery without members in its body, whose id and headers are all text.
func probe(text, topic string, headers []string) *headrace.Delivery {
	d := &headrace.Delivery{
		ID: text, Topic: topic, Payload: []byte("{}"), Metadata: map[string]string{"content-type": "application/json"},
		Coordinates: headrace.Coordinates{Broker: broker, Topic: topic},
	}
	for _, name := range headers {
		d.Metadata[name] = text
	}
	return d
}

// refusal says why there can be no subscription to the topic. The caller holds s.mu.
func (s *Source) refusal(name string, t *topic) error {
	switch {
	case s.mistake != nil:
		return s.mistake
	case t.mistake != nil:
		return t.mistake
	case !t.served:
		return fmt.Errorf("topic %q has no endpoint: call Source.Endpoint(%q, …) before Run; %s", name, name, s.endpoints())
	case t.exposed && !t.ownKey:
		return fmt.Errorf("an endpoint of topic %q verifies a signature that covers the body alone, so a captured request could be sent "+
			"again under another id, and the handler's key is made from the id or a header: make it from the body, with consumer.Key(inbox.JSON(…))", name)
	case t.unstored != "":
		return fmt.Errorf("the handler's key of topic %q is made from the header %q, which is not stored: name it in Options.Headers", name, t.unstored)
	}
	return nil
}

// endpoints says which topics have one. The caller holds s.mu.
func (s *Source) endpoints() string {
	var names []string
	for _, name := range slices.Sorted(maps.Keys(s.topics)) {
		if s.topics[name].served {
			names = append(names, strconv.Quote(name))
		}
	}
	if len(names) == 0 {
		return "there is none yet"
	}
	return "there are endpoints of " + encode.Text(strings.Join(names, ", "), 500)
}

// Subscribe opens a topic: from now on its endpoints hand requests over. It does not block.
// If there are several subscriptions to a topic, each gets every request, and a request is
// answered with 200 when all have acknowledged it. The channel is closed when ctx ends or
// the Source is closed; requests that were handed over wait for their acknowledgement.
//
// It returns an error for what Check rejects. A topic with an endpoint whose signatures
// cover the body alone needs a Check before.
func (s *Source) Subscribe(ctx context.Context, name string) (<-chan *message.Message, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closing.Err() != nil {
		return nil, ErrClosed
	}
	t := s.topic(name)
	if err := s.refusal(name, t); err != nil {
		return nil, fmt.Errorf("webhook: %w", err)
	}
	t.bound, s.started = true, true
	sub := &subscription{out: make(chan *message.Message)}
	sub.ctx, sub.cancel = context.WithCancel(ctx)
	t.subs = append(t.subs, sub)
	s.running.Go(func() { s.serve(t, sub) })
	return sub.out, nil
}

// subscription is one call of Subscribe.
type subscription struct {
	ctx     context.Context // ends when nothing more is handed over
	cancel  context.CancelFunc
	out     chan *message.Message
	sending sync.WaitGroup // requests that hand over to out
}

// serve returns when the subscription has ended, and no request hands over to it.
func (s *Source) serve(t *topic, sub *subscription) {
	defer sub.cancel()
	stop := context.AfterFunc(s.closing, sub.cancel)
	defer stop()
	<-sub.ctx.Done()
	s.mu.Lock()
	t.subs = slices.DeleteFunc(t.subs, func(other *subscription) bool { return other == sub })
	s.mu.Unlock()
	sub.sending.Wait()
	close(sub.out)
}

// Close ends all subscriptions and waits for their goroutines. It may be called again.
func (s *Source) Close() error {
	s.mu.Lock()
	s.close()
	s.mu.Unlock()
	s.running.Wait()
	return nil
}

// Refusing returns an error while an endpoint of the topic has refused every request for 5 minutes.
// It does not block. A consumer that is subscribed calls it every 2 seconds, and sends alerts.WebhookRefused.
func (s *Source) Refusing(name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range s.topic(name).refusals {
		if err := r.refusing(); err != nil {
			return err
		}
	}
	return nil
}

// Pause answers requests of the topic's endpoints with 503, except those that were handed
// over.
func (s *Source) Pause(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topic(name); !t.isPaused {
		t.isPaused = true
		close(t.paused)
	}
}

// Resume ends Pause.
func (s *Source) Resume(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t := s.topic(name); t.isPaused {
		t.isPaused, t.paused = false, make(chan struct{})
	}
}

// Retention is Options.Retention.
func (s *Source) Retention() time.Duration { return s.o.Retention }

// open reports whether a request of the topic would be handed over now.
func (s *Source) open(t *topic) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.mistake == nil && t.mistake == nil && !t.isPaused && len(t.subs) > 0
}

// deliver hands a message over to each subscription of t, and reports whether all have
// acknowledged it before ctx ended.
func (s *Source) deliver(ctx context.Context, t *topic, create func() *message.Message) bool {
	s.mu.Lock()
	if t.isPaused {
		s.mu.Unlock()
		return false
	}
	subs, paused := slices.Clone(t.subs), t.paused
	for _, sub := range subs {
		sub.sending.Add(1)
	}
	s.mu.Unlock()
	sent := make([]*message.Message, 0, len(subs))
	for _, sub := range subs {
		if m := create(); sub.offer(ctx, paused, m) {
			sent = append(sent, m)
		}
		sub.sending.Done()
	}
	if len(sent) < len(subs) || len(subs) == 0 {
		return false
	}
	return !slices.ContainsFunc(sent, func(m *message.Message) bool { return !acked(ctx, m) })
}

// offer hands m over; false if the topic is paused, or the subscription or ctx ended, before
// it was taken.
func (u *subscription) offer(ctx context.Context, paused <-chan struct{}, m *message.Message) bool {
	select {
	case <-paused:
	case <-u.ctx.Done():
	case <-ctx.Done():
	case u.out <- m:
		return true
	}
	return false
}

// acked reports whether m was acknowledged before it was given back, or ctx ended.
func acked(ctx context.Context, m *message.Message) bool {
	select {
	case <-m.Acked():
		return true
	case <-m.Nacked():
		return false
	case <-ctx.Done():
	}
	select {
	case <-m.Acked():
		return true
	default:
		return false
	}
}
