package txn

import "time"

// Grow makes what is prepared older by d.
func (s *Statements) Grow(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for query, p := range s.prepared {
		p.since = p.since.Add(-d)
		s.prepared[query] = p
	}
}

// AwaitClosed waits until the server knows of the statements that were replaced.
func (s *Statements) AwaitClosed() { s.closing.Wait() }
