package outbox

import "sync"

// Signal wakes one waiter, now or when it next waits. It is safe for concurrent use, and
// Wake never blocks.
type Signal struct {
	c chan struct{}

	mu    sync.Mutex
	lines []*Signal
}

// NewSignal returns a signal that is not set.
func NewSignal() *Signal { return &Signal{c: make(chan struct{}, 1)} }

// Line returns a new signal for a waiter of its own, which Wake of s sets too.
func (s *Signal) Line() *Signal {
	line := NewSignal()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.lines = append(s.lines, line)
	return line
}

// Wake sets the signal; if it is set already, Wake does nothing.
func (s *Signal) Wake() {
	select {
	case s.c <- struct{}{}:
	default:
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, line := range s.lines {
		line.Wake()
	}
}

// C returns the channel that the waiter receives from.
func (s *Signal) C() <-chan struct{} { return s.c }
