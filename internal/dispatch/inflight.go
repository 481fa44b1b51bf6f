package dispatch

import (
	"sync"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/task"
)

// Inflight keeps deliveries of one message apart while the first of them is in flight:
// the others wait behind it. It is safe for concurrent use.
type Inflight struct {
	mu sync.Mutex
	// behind holds, for each message in flight, its later deliveries.
	behind map[inbox.ID][]*task.Task
}

// NewInflight returns an empty set.
func NewInflight() *Inflight { return &Inflight{behind: make(map[inbox.ID][]*task.Task)} }

// Enter reports whether t is the only delivery of its message here, and may continue.
// Otherwise t is kept, and Leave returns it.
func (s *Inflight) Enter(t *task.Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := t.ID()
	behind, taken := s.behind[id]
	if !taken {
		s.behind[id] = nil
		return true
	}
	s.behind[id] = append(behind, t)
	return false
}

// Leave removes t, and returns the deliveries that waited behind it. The caller settles
// them or calls Enter again.
func (s *Inflight) Leave(t *task.Task) []*task.Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	behind := s.behind[t.ID()]
	delete(s.behind, t.ID())
	return behind
}
