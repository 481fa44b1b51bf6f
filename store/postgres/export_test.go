package postgres

import "time"

// SetCommitTimeout bounds COMMIT for tests that cut it.
func (s *Store) SetCommitTimeout(d time.Duration) { s.patience = d }

// Links is how many network connections the store knows.
func (s *Store) Links() (n int) {
	s.connector.links.Range(func(any, any) bool { n++; return true })
	return n
}

// SQL is a statement by the name of its file, for EXPLAIN.
func (s *Store) SQL(name string) string { return s.text.Queries.Get(name) }

// Unused are the statements that no code has asked for.
func (s *Store) Unused() []string { return s.text.Queries.Unused() }
