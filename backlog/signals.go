package backlog

import (
	"slices"
	"sync"
	"sync/atomic"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
)

// Signals wake the workers of consumers' backlogs in this process after other code has
// put rows there, and tell those who wait for a message that it may have ended. They are
// hints: without one the next poll finds the rows. Safe for concurrent use.
type Signals struct {
	mu         sync.Mutex
	byConsumer map[string]*outbox.Signal
	watches    []*watch
	watched    atomic.Bool // there are watches
}

// watch is a call of Watch.
type watch struct{ ended func(inbox.ID) }

// NewSignals returns Signals with none pending.
func NewSignals() *Signals { return &Signals{byConsumer: make(map[string]*outbox.Signal)} }

// Wake wakes the worker of consumer's backlog. It never blocks.
func (s *Signals) Wake(consumer string) { s.of(consumer).Wake() }

// C returns the channel that the worker of consumer's backlog receives from.
func (s *Signals) C(consumer string) <-chan struct{} { return s.of(consumer).C() }

// Watch has ended called for each message of the backlog whose run in this process has had
// an outcome, until stop is called; a last call may come after that. ended must not block,
// and not call Watch or stop.
func (s *Signals) Watch(ended func(inbox.ID)) (stop func()) {
	w := &watch{ended}
	s.change(func(list []*watch) []*watch { return append(list, w) })
	return func() {
		s.change(func(list []*watch) []*watch {
			return slices.DeleteFunc(list, func(other *watch) bool { return other == w })
		})
	}
}

// change replaces the watches.
func (s *Signals) change(f func([]*watch) []*watch) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.watches = f(slices.Clone(s.watches))
	s.watched.Store(len(s.watches) > 0)
}

// Ended tells the watches that a run of a message has had an outcome. It costs almost
// nothing without one.
func (s *Signals) Ended(id inbox.ID) {
	if !s.watched.Load() {
		return
	}
	s.mu.Lock()
	list := s.watches
	s.mu.Unlock()
	for _, w := range list {
		w.ended(id)
	}
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
