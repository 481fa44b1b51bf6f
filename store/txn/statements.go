package txn

import (
	"context"
	"database/sql"
	"sync"
	"time"
)

// Statements is a bounded cache of prepared statements for one *sql.DB. It is
// safe for concurrent use.
//
// lib/pq spends two round trips on a statement with arguments that was not
// prepared, and one on a prepared one. database/sql keeps a statement prepared on
// each connection that has used it, so a cache of *sql.Stmt is all that is needed.
//
// A statement is prepared outside of any transaction, after it was seen twice,
// because preparing takes a connection, and a pool of one has none to spare while
// a transaction is open.
//
// A change of the schema can make a prepared statement fail for good, on every
// connection that has it ("cached plan must not change result type"). One that does
// is forgotten, and the transaction that met with it may be run again at once.
type Statements struct {
	db    *sql.DB
	limit int

	mu       sync.RWMutex
	prepared map[string]*sql.Stmt
	seen     map[string]int
}

// NewStatements returns an empty cache of at most limit statements for db. Past
// the limit nothing more is cached: a program with more distinct statements than
// that builds them on the fly, and would only push out the ones that matter.
func NewStatements(db *sql.DB, limit int) *Statements {
	return &Statements{db: db, limit: limit, prepared: make(map[string]*sql.Stmt), seen: make(map[string]int)}
}

func (s *Statements) get(query string) *sql.Stmt {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.prepared[query]
}

// learn counts the queries that were not cached and prepares those seen before.
// It gives up quietly: the cache only saves time.
func (s *Statements) learn(queries []string) {
	for _, query := range queries {
		if !s.due(query) {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		stmt, err := s.db.PrepareContext(ctx, query)
		cancel()
		s.mu.Lock()
		if err == nil && s.prepared[query] == nil {
			s.prepared[query], stmt = stmt, nil
		}
		s.mu.Unlock()
		if err == nil && stmt != nil {
			_ = stmt.Close()
		}
	}
}

// due counts query and reports whether it should be prepared now.
func (s *Statements) due(query string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.prepared[query] != nil || len(s.prepared) >= s.limit {
		return false
	}
	if len(s.seen) > 8*s.limit {
		clear(s.seen)
	}
	s.seen[query]++
	return s.seen[query] == 2
}

// forget drops one statement, to be prepared anew when it is seen again.
func (s *Statements) forget(query string) {
	s.mu.Lock()
	stmt := s.prepared[query]
	delete(s.prepared, query)
	delete(s.seen, query)
	s.mu.Unlock()
	if stmt != nil {
		_ = stmt.Close()
	}
}

// Reset forgets every statement, after a schema change made one of them invalid.
func (s *Statements) Reset() {
	s.mu.Lock()
	old := s.prepared
	s.prepared, s.seen = make(map[string]*sql.Stmt), make(map[string]int)
	s.mu.Unlock()
	for _, stmt := range old {
		_ = stmt.Close()
	}
}

// Close forgets every statement. Statements in use go on.
func (s *Statements) Close() { s.Reset() }
