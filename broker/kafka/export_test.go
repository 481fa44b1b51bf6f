package kafka

import "time"

// SetGone changes how long a topic may be gone.
func (s *Source) SetGone(d time.Duration) { s.gone = d }

// Waiting is how many bytes of records wait to be handed over, in all subscriptions.
func (s *Source) Waiting() (bytes int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for member := range s.sessions {
		for _, p := range member.all() {
			p.mu.Lock()
			bytes += p.bytes
			p.mu.Unlock()
		}
	}
	return bytes
}
