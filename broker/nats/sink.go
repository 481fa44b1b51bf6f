package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/outbox/relay"
)

// Sink publishes into streams. It is safe for concurrent use.
type Sink struct {
	o      SinkOptions
	link   *link
	finder finder

	mu      sync.Mutex
	closed  bool
	known   map[string]bool // topics whose streams were checked
	calls   sync.WaitGroup
	stopped sync.Once
}

var (
	_ message.Publisher    = (*Sink)(nil)
	_ relay.HealthReporter = (*Sink)(nil)
)

// atOnce is how many messages of one call wait for their confirmation together.
const atOnce = 512

// NewSink connects to the server. If the server is away, it returns a Sink that goes on
// connecting, and Publish fails meanwhile. The error names the invalid option, or is the
// server's refusal.
func NewSink(o SinkOptions) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("nats.NewSink: %w", err)
	}
	if o.PublishTimeout == 0 {
		o.PublishTimeout = 10 * time.Second
	}
	l, err := connect(o.Server, jetstream.WithPublishAsyncTimeout(o.PublishTimeout), jetstream.WithPublishAsyncMaxPending(64*atOnce))
	if err != nil {
		return nil, fmt.Errorf("nats.NewSink: %w", err)
	}
	return &Sink{
		o: o, link: l, known: make(map[string]bool),
		finder: finder{js: l.js, provision: o.Provision, unsafeMemory: o.UnsafeMemory, unsafeDiscard: o.UnsafeDiscard},
	}, nil
}

// SinkID identifies the servers and the domain, for the relay: without user, password and
// token.
func (s *Sink) SinkID() string {
	urls := strings.Split(s.o.URL, ",")
	if s.o.Conn != nil {
		urls = append([]string{s.o.Conn.Opts.Url}, s.o.Conn.Opts.Servers...)
	}
	var hosts []string
	for _, url := range urls {
		host := strings.TrimSpace(url[strings.LastIndexByte(url, '@')+1:])
		if _, after, found := strings.Cut(host, "://"); found {
			host = after
		}
		if host, _, _ = strings.Cut(host, "/"); host != "" {
			hosts = append(hosts, host)
		}
	}
	slices.Sort(hosts)
	return strings.TrimSpace("nats:" + strings.Join(slices.Compact(hosts), ",") + " " + s.o.Domain)
}

// Publish implements message.Publisher: it returns nil when the stream has stored every
// message. An error says that at least one may not be stored; a message that is invalid
// (for example above max_payload or MaxMsgSize) is rejected each time. If no stream has
// the topic, the error matches ErrNoStream. It blocks for a few PublishTimeouts at most.
func (s *Sink) Publish(topic string, messages ...*message.Message) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return ErrClosed
	}
	s.calls.Add(1)
	s.mu.Unlock()
	defer s.calls.Done()
	if len(messages) == 0 {
		return nil
	}
	if err := s.look(topic); err != nil {
		return fmt.Errorf("publish to %q: %w", topic, err)
	}
	for len(messages) > 0 {
		n := min(atOnce, len(messages))
		if err := s.publish(topic, messages[:n]); err != nil {
			return fmt.Errorf("publish to %q: %w", topic, err)
		}
		messages = messages[n:]
	}
	return nil
}

// look checks once for each topic that its stream confirms and keeps messages.
func (s *Sink) look(topic string) error {
	if err := checkSubject(topic, false); err != nil {
		return err
	}
	s.mu.Lock()
	known := s.known[topic]
	s.mu.Unlock()
	if known || s.o.UnsafeUnchecked {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), s.o.PublishTimeout)
	defer cancel()
	st, err := s.finder.find(ctx, topic)
	if err != nil {
		return err
	}
	if err := s.wanted(ctx, st, topic); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.known[topic] = true
	return nil
}

func (s *Sink) publish(topic string, messages []*message.Message) error {
	type wait struct {
		jetstream.PubAckFuture
		record *natsgo.Msg
	}
	waits := make([]wait, 0, len(messages))
	var errs []error
	for _, m := range messages {
		record := marshal(topic, m)
		f, err := s.link.js.PublishMsgAsync(record)
		if err != nil {
			errs = append(errs, err)
			break // later ones would be stored before it
		}
		waits = append(waits, wait{f, record})
	}
	var had []repetition
	for _, f := range waits {
		select {
		case ack := <-f.Ok():
			if ack.Duplicate {
				had = append(had, repetition{f.record, ack})
			}
		case err := <-f.Err():
			errs = append(errs, err)
		}
	}
	if err := errors.Join(errs[:min(len(errs), 3)]...); err != nil {
		if errors.Is(err, jetstream.ErrNoStreamResponse) {
			s.forget(topic)
			err = fmt.Errorf("%w (%w)", ErrNoStream, err)
		}
		if tooLarge(err) {
			err = fmt.Errorf("%w: %w", outbox.ErrTooLarge, err)
		}
		return err
	}
	return s.repeated(topic, had)
}

// headersTooLarge is the server's error for headers of more than 64 KiB. The client has no name
// for it.
const headersTooLarge jetstream.ErrorCode = 10097

// tooLarge reports whether the server or its stream takes no message of that size.
func tooLarge(err error) bool {
	var refused *jetstream.APIError
	return errors.Is(err, natsgo.ErrMaxPayload) || errors.As(err, &refused) &&
		(refused.ErrorCode == jetstream.JSErrCodeStreamMessageExceedsMaximum || refused.ErrorCode == headersTooLarge)
}

// forget makes the next Publish check the stream of topic again.
func (s *Sink) forget(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, topic)
}

// Close implements message.Publisher: it waits for running calls of Publish. It may be
// called twice.
func (s *Sink) Close() error {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.calls.Wait()
	s.stopped.Do(func() {
		s.link.js.CleanupPublisher()
		s.link.close()
	})
	return nil
}
