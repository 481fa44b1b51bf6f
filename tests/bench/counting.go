package main

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// totalOf returns the number of an event that waiting made, which is its total.
func totalOf(m *message.Message) (int, error) {
	var body invoiced
	if err := json.Unmarshal(m.Payload, &body); err != nil {
		return 0, fmt.Errorf("read an event: %w", err)
	}
	if m.UUID != uuid(uint64(body.TotalCents)) {
		return 0, fmt.Errorf("event %d has the id of another", body.TotalCents)
	}
	return int(body.TotalCents), nil
}

// bitSink is a sink in little memory, a bit for each message, for measuring what the
// process needs besides.
type bitSink struct {
	all chan struct{} // closed when all have come

	mu     sync.Mutex
	seen   []uint64
	left   int
	failed error
}

func newBitSink(want int) *bitSink {
	return &bitSink{all: make(chan struct{}), seen: make([]uint64, want/64+1), left: want}
}

// Publish implements message.Publisher.
func (s *bitSink) Publish(_ string, messages ...*message.Message) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range messages {
		n, err := totalOf(m)
		switch {
		case err != nil:
			s.failed = err
		case s.seen[n/64]>>(n%64)&1 == 1:
			s.failed = fmt.Errorf("event %d was published twice", n)
		default:
			s.seen[n/64] |= 1 << (n % 64)
			if s.left--; s.left == 0 {
				close(s.all)
			}
		}
	}
	return nil
}

// Close implements message.Publisher.
func (s *bitSink) Close() error { return nil }

// verify proves that each message came once.
func (s *bitSink) verify() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left > 0 || s.failed != nil {
		return fmt.Errorf("verify: %d messages were not published (%w)", s.left, s.failed)
	}
	return nil
}
