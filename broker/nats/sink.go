package nats

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// Sink publishes into streams. It is safe for concurrent use.
type Sink struct {
	o      SinkOptions
	link   *link
	finder finder

	mu      sync.Mutex
	closed  bool
	known   map[string]bool // topics whose streams were looked at
	calls   sync.WaitGroup
	stopped sync.Once
}

var _ message.Publisher = (*Sink)(nil)

// atOnce is how many messages wait for their confirmation together, in one call.
const atOnce = 512

// NewSink connects to the server. The error names the option that cannot be.
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

// Publish implements message.Publisher: it returns nil once the stream has stored every
// message. An error says that one at least may not be; a message alone that was refused
// for what it is (above max_payload or MaxMsgSize, say) is refused again. A topic that no
// stream has is ErrNoStream. It blocks for a few PublishTimeouts at most.
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

// look asks once for each topic whether its stream confirms and keeps what it is given.
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
			break // what follows would come before it
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
		return err
	}
	return s.repeated(topic, had)
}

// forget has the stream of topic looked at again.
func (s *Sink) forget(topic string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.known, topic)
}

// Close implements message.Publisher: it waits for the calls of Publish under way. It may
// be called twice.
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
