package postgres

import "time"

// SetCommitTimeout bounds COMMIT for tests that cut it.
func (s *Store) SetCommitTimeout(d time.Duration) { s.patience = d }

// Links is how many network connections the store knows.
func (s *Store) Links() (n int) {
	s.connector.links.Range(func(any, any) bool { n++; return true })
	return n
}

// PollSQL are the statements of an idle look, for EXPLAIN.
func (s *Store) PollSQL() (backlog, outbox string) { return s.backlog.poll, s.outbox.poll }
