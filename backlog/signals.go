package backlog

import (
	"sync"

	"github.com/headrace/headrace/outbox"
)

// Signals wake the workers of consumers' backlogs in this process after other code has
// put rows there. They are hints: without one the next poll finds the rows. Safe for
// concurrent use.
type Signals struct {
	mu         sync.Mutex
	byConsumer map[string]*outbox.Signal
}

// NewSignals returns Signals with none pending.
func NewSignals() *Signals { return &Signals{byConsumer: make(map[string]*outbox.Signal)} }

// Wake wakes the worker of consumer's backlog. It never blocks.
func (s *Signals) Wake(consumer string) { s.of(consumer).Wake() }

// C returns the channel that the worker of consumer's backlog receives from.
func (s *Signals) C(consumer string) <-chan struct{} { return s.of(consumer).C() }

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
