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
// lib/pq needs two round trips for a statement with arguments that is not prepared, and
// one for a prepared one. With pgx the server plans an unprepared statement every time,
// and keeps the plan of a prepared one for good. database/sql keeps a statement prepared
// on each connection that has used it, so a cache of *sql.Stmt is enough.
//
// A statement is prepared outside of any transaction, after its second use, because
// preparing takes a connection, and a pool of one has none left while a transaction is
// open.
//
// A statement is prepared again after Replan, because the server may keep its plan: a
// plan from when a table was empty would read the whole table, for the minutes until the
// server has noticed that it grew.
//
// A change of the schema can make a prepared statement fail permanently, on every
// connection that has it ("cached plan must not change result type"). The cache drops
// such a statement, and its transaction may be run again at once.
type Statements struct {
	db    *sql.DB
	limit int

	closing sync.WaitGroup // of statements that were replaced

	mu       sync.RWMutex
	prepared map[string]preparedStatement
	seen     map[string]int
}

type preparedStatement struct {
	*sql.Stmt
	since time.Time
	times int // how often it was prepared
	// before is the previous one, which another goroutine may still be about to use.
	before *sql.Stmt
}

// close closes the statements of p.
func (p preparedStatement) close() {
	for _, stmt := range []*sql.Stmt{p.Stmt, p.before} {
		if stmt != nil {
			_ = stmt.Close()
		}
	}
}

// Replan is how long a statement stays prepared.
const Replan = 5 * time.Second

// NewStatements returns an empty cache of at most limit statements for db. A full cache
// adds nothing: a program with more distinct statements builds them at run time, and they
// would push out the important ones.
func NewStatements(db *sql.DB, limit int) *Statements {
	return &Statements{db: db, limit: limit, prepared: make(map[string]preparedStatement), seen: make(map[string]int)}
}

// get returns query prepared, or nil, and whether to prepare it again.
func (s *Statements) get(query string) (stmt *sql.Stmt, learn bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	p := s.prepared[query]
	return p.Stmt, p.Stmt == nil || time.Since(p.since) > Replan
}

// learn counts the queries that were not cached and prepares those seen before. It
// ignores errors: the cache only saves time.
func (s *Statements) learn(queries []string) {
	for _, query := range queries {
		times, due := s.due(query)
		if !due {
			continue
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		// pgx has one statement for each text; an extra blank makes it another one.
		stmt, err := s.db.PrepareContext(ctx, query+"  "[:times%3])
		cancel()
		if err != nil {
			return // the next transaction tries again
		}
		s.mu.Lock()
		old := s.prepared[query]
		s.prepared[query] = preparedStatement{stmt, time.Now(), times + 1, old.Stmt}
		s.mu.Unlock()
		// This tells the server on each connection, and one may not answer.
		s.closing.Go(preparedStatement{before: old.before}.close)
	}
}

// due counts query and reports how often it was prepared, and whether it should be now.
func (s *Statements) due(query string) (times int, due bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.prepared[query]; p.Stmt != nil {
		if due = time.Since(p.since) > Replan; due { // once
			p.since = time.Now()
			s.prepared[query] = p
		}
		return p.times, due
	}
	if len(s.prepared) >= s.limit {
		return 0, false
	}
	if len(s.seen) > 8*s.limit {
		clear(s.seen)
	}
	s.seen[query]++
	return 0, s.seen[query] == 2
}

// ExecContext runs a statement outside of a transaction.
func (s *Statements) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if stmt := s.outside(query, len(args)); stmt != nil {
		r, err := stmt.ExecContext(ctx, args...)
		s.look(query, err)
		return r, err
	}
	return s.db.ExecContext(ctx, query, args...)
}

// QueryContext runs a query outside of a transaction.
func (s *Statements) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if stmt := s.outside(query, len(args)); stmt != nil {
		r, err := stmt.QueryContext(ctx, args...)
		s.look(query, err)
		return r, err
	}
	return s.db.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query for one row outside of a transaction.
func (s *Statements) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if stmt := s.outside(query, len(args)); stmt != nil {
		r := stmt.QueryRowContext(ctx, args...)
		s.look(query, r.Err())
		return r
	}
	return s.db.QueryRowContext(ctx, query, args...)
}

// outside returns query prepared, or nil.
func (s *Statements) outside(query string, args int) *sql.Stmt {
	if args == 0 || s.limit == 0 {
		return nil
	}
	stmt, learn := s.get(query)
	if learn {
		s.learn([]string{query})
	}
	return stmt
}

func (s *Statements) look(query string, err error) {
	if err != nil && Outdated(err) {
		s.forget(query)
	}
}

// forget drops one statement; later uses prepare it again.
func (s *Statements) forget(query string) {
	s.mu.Lock()
	old := s.prepared[query]
	delete(s.prepared, query)
	delete(s.seen, query)
	s.mu.Unlock()
	old.close()
}

// Reset drops every statement, after a change of the schema made some of them invalid.
func (s *Statements) Reset() {
	s.mu.Lock()
	old := s.prepared
	s.prepared, s.seen = make(map[string]preparedStatement), make(map[string]int)
	s.mu.Unlock()
	for _, p := range old {
		p.close()
	}
}

// Close drops every statement. Statements in use continue.
func (s *Statements) Close() {
	s.Reset()
	s.closing.Wait()
}

// bound are the cached statements that a transaction has used.
type bound struct {
	prepared []boundStatement
	missed   []string // queries that the cache shall learn, and
	outdated []string // drop, when the transaction ends
}

type boundStatement struct {
	*sql.Stmt
	query string
}

// lookup returns query bound to t, or nil if it is not cached.
func (b *bound) lookup(ctx context.Context, t *Txn, query string, args int) *sql.Stmt {
	if t.o.Statements == nil || args == 0 || t.o.Cached != nil && !t.o.Cached(query) {
		return nil
	}
	for i := range b.prepared { // they are few
		if b.prepared[i].query == query {
			return b.prepared[i].Stmt
		}
	}
	s, learn := t.o.Statements.get(query)
	if learn {
		b.missed = append(b.missed, query)
	}
	if s == nil {
		return nil
	}
	s = t.tx.StmtContext(ctx, s)
	b.prepared = append(b.prepared, boundStatement{s, query})
	return s
}

// look records a cached statement that the database can no longer use.
func (b *bound) look(query string, err error) {
	if err != nil && Outdated(err) {
		b.outdated = append(b.outdated, query)
	}
}

// end makes the cache drop the outdated statements and learn the missing ones.
func (b *bound) end(cache *Statements, broken bool) {
	for _, query := range b.outdated {
		cache.forget(query)
	}
	if !broken && cache != nil {
		cache.learn(b.missed)
	}
}
