package backlog

import (
	"sync"

	"github.com/headrace/headrace/outbox"
)

// Signals wake those in this process who work off the backlogs of consumers, when rows
// were put there by others. They are hints: without one the rows are found by the next
// look. It is safe for concurrent use; a nil one wakes nobody.
type Signals struct {
	mu         sync.Mutex
	byConsumer map[string]*outbox.Signal
}

// NewSignals returns signals that nobody has given yet.
func NewSignals() *Signals { return &Signals{byConsumer: make(map[string]*outbox.Signal)} }

// Wake wakes who works off the backlog of consumer. It never blocks.
func (s *Signals) Wake(consumer string) {
	if s != nil {
		s.of(consumer).Wake()
	}
}

// C is received from by the one who works off the backlog of consumer.
func (s *Signals) C(consumer string) <-chan struct{} {
	if s == nil {
		return nil
	}
	return s.of(consumer).C()
}

func (s *Signals) of(consumer string) *outbox.Signal {
	s.mu.Lock()
	defer s.mu.Unlock()
	signal := s.byConsumer[consumer]
	if signal == nil {
		signal = outbox.NewSignal()
		s.byConsumer[consumer] = signal
	}
	return signal
}
