package memsource

import (
	"context"
	"errors"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Source is a message.Subscriber. It is safe for concurrent use.
type Source struct {
	mu     sync.Mutex
	topics map[string]chan *message.Message
	closed bool
}

// New returns a source without topics: they are made as they are asked for.
func New() *Source { return &Source{topics: make(map[string]chan *message.Message)} }

func (s *Source) topic(name string) chan *message.Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	c := s.topics[name]
	if c == nil {
		c = make(chan *message.Message, 1<<14)
		if s.closed {
			close(c)
		}
		s.topics[name] = c
	}
	return c
}

// Subscribe implements message.Subscriber. All subscriptions of a topic share its
// deliveries.
func (s *Source) Subscribe(_ context.Context, topic string) (<-chan *message.Message, error) {
	return s.topic(topic), nil
}

// Close ends every subscription.
func (s *Source) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return errors.New("closed twice")
	}
	s.closed = true
	for _, c := range s.topics {
		close(c)
	}
	return nil
}

// Deliver hands a message over and returns it: its Acked and Nacked channels tell
// what became of it.
func (s *Source) Deliver(topic, id string, payload []byte, metadata map[string]string) *message.Message {
	m := message.NewMessage(id, payload)
	for name, value := range metadata {
		m.Metadata.Set(name, value)
	}
	s.topic(topic) <- m
	return m
}

// Outcome blocks until m is acknowledged (true) or given back (false); an error when
// ctx ends first.
func Outcome(ctx context.Context, m *message.Message) (acked bool, err error) {
	select {
	case <-m.Acked():
		return true, nil
	case <-m.Nacked():
		return false, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// DeliverMessage hands a message over that the caller made.
func (s *Source) DeliverMessage(topic string, m *message.Message) { s.topic(topic) <- m }
