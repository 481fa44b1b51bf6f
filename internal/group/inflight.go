package group

import (
	"sync"

	"github.com/headrace/headrace/inbox"
)

// Inflight keeps deliveries of one message apart while the first of them is on its
// way: the others wait behind it. It is safe for concurrent use.
type Inflight struct {
	mu   sync.Mutex
	byID map[inbox.ID]*flight
}

type flight struct {
	behind []*Task
}

// NewInflight returns an empty set.
func NewInflight() *Inflight { return &Inflight{byID: make(map[inbox.ID]*flight)} }

// Enter reports whether t is the only delivery of its message here, and may go on.
// Otherwise t is kept, and Leave returns it.
func (s *Inflight) Enter(t *Task) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	id := t.ID()
	f := s.byID[id]
	if f == nil {
		s.byID[id] = &flight{}
		return true
	}
	f.behind = append(f.behind, t)
	return false
}

// Leave ends the flight of t, and returns the deliveries that waited behind it. The
// caller settles them or lets them enter again.
func (s *Inflight) Leave(t *Task) []*Task {
	s.mu.Lock()
	defer s.mu.Unlock()
	f := s.byID[t.ID()]
	delete(s.byID, t.ID())
	if f == nil {
		return nil
	}
	return f.behind
}
