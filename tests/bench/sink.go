package main

import (
	"fmt"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
)

// sink is a publisher that costs nothing: it knows which messages it has had, and
// when all of them have come.
type sink struct {
	want int
	all  chan struct{} // closed when want distinct messages have come

	mu   sync.Mutex
	seen map[string]struct{}
	more int // messages that came again
	last time.Time
	gaps histogram // between one publish and the next
}

func newSink(want int) *sink {
	return &sink{want: want, all: make(chan struct{}), seen: make(map[string]struct{}, want), last: time.Now()}
}

// Publish implements message.Publisher.
func (s *sink) Publish(_ string, messages ...*message.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	now := time.Now()
	for range messages {
		s.gaps.add(now.Sub(s.last))
		s.last = now
	}
	for _, m := range messages {
		if _, again := s.seen[m.UUID]; again {
			s.more++
			continue
		}
		s.seen[m.UUID] = struct{}{}
		if len(s.seen) == s.want {
			close(s.all)
		}
	}
	return nil
}

// Close implements message.Publisher.
func (s *sink) Close() error { return nil }

// begin forgets the time before the first publish.
func (s *sink) begin() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.last = time.Now()
}

// verify proves that all came, and each once.
func (s *sink) verify() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) != s.want || s.more > 0 {
		return fmt.Errorf("verify: %d messages were to be published, %d were, and %d again", s.want, len(s.seen), s.more)
	}
	return nil
}
