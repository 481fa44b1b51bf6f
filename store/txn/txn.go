package txn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
)

// Options say how Begin opens a transaction. The zero value is a transaction of
// the database's default isolation without a statement cache.
type Options struct {
	// SQL is given to database/sql. Stores set the isolation explicitly.
	SQL sql.TxOptions
	// Statements caches prepared statements; nil means none.
	Statements *Statements
	// RolledBack recognises the driver's own errors, without a code, that mean
	// "was rolled back". May be nil.
	RolledBack func(error) bool
	// Kill returns what cuts a connection on which BEGIN, COMMIT or ROLLBACK gets no
	// answer; nil for one that cannot be reached, which is then left to a goroutine
	// that waits for the answer. What it returns is called from any goroutine, also
	// twice. A nil Kill is for a database without a network, which answers.
	Kill func(conn *sql.Conn) func()
	// Begins says that BEGIN ends with Begin's context by itself, and with an error that
	// says more than that the connection was cut.
	Begins bool
	// Abandoned counts what is left behind; nil means a private one.
	Abandoned *Abandoned
}

// Txn is a transaction on a connection of its own. It is used by one goroutine at
// a time. Its statement methods are those of headrace.DBTX.
type Txn struct {
	conn       *sql.Conn
	tx         *sql.Tx
	statements *Statements
	prepared   map[string]*sql.Stmt
	missed     []string // queries to learn, and
	outdated   []string // to forget when t ends
	rolledBack func(error) bool
	kill       func()
	uncut      func() bool // ends what CutAfter began; or nil
	abandoned  *Abandoned
	id         string
	ended      bool
	// unreachable says that kill is nil although the answer may never come.
	unreachable bool
}

// Begin takes a connection from db, waiting for one until ctx ends, and begins.
// A BEGIN without an answer ends with ctx: its connection is cut or left behind, and
// the error is of class Connection. The transaction itself does not end with ctx: the
// caller ends it.
func Begin(ctx context.Context, db *sql.DB, o Options) (*Txn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("take a connection: %w", err)
	}
	if o.Abandoned == nil {
		o.Abandoned = new(Abandoned)
	}
	t := &Txn{conn: conn, statements: o.Statements, rolledBack: o.RolledBack, abandoned: o.Abandoned}
	if err := t.begin(ctx, &o); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return t, nil
}

// SetID remembers the database's id of this transaction, and ID returns it. A
// store sets it with the claim and compares at the commit: a handler that ended
// the transaction behind our back shows by another id.
func (t *Txn) SetID(id string) { t.id = id }

// ID returns what SetID was given; "" if nothing.
func (t *Txn) ID() string { return t.id }

// SQL returns the transaction as database/sql knows it. Whoever commits or rolls
// it back breaks the rules of this package, and Store.Commit says so.
func (t *Txn) SQL() *sql.Tx { return t.tx }

// Raw gives f the driver's connection while the transaction is open. f must not
// keep it.
func (t *Txn) Raw(f func(driverConn any) error) error { return t.conn.Raw(f) }

// ExecContext runs a statement, from the cache where it is there.
func (t *Txn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := t.lookup(ctx, query, len(args)); s != nil {
		r, err := s.ExecContext(ctx, args...)
		t.look(query, err)
		return r, err
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext runs a query, from the cache where it is there.
func (t *Txn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := t.lookup(ctx, query, len(args)); s != nil {
		r, err := s.QueryContext(ctx, args...)
		t.look(query, err)
		return r, err
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query for one row, from the cache where it is there.
func (t *Txn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := t.lookup(ctx, query, len(args)); s != nil {
		r := s.QueryRowContext(ctx, args...)
		t.look(query, r.Err())
		return r
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}

// look notes a cached statement that the database has no use for any more.
func (t *Txn) look(query string, err error) {
	if err != nil && isOutdated(err) {
		t.outdated = append(t.outdated, query)
	}
}

// PrepareContext prepares a statement for this transaction. The caller closes it.
func (t *Txn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return t.tx.PrepareContext(ctx, query)
}

// lookup returns query bound to this transaction, or nil where it is not cached.
func (t *Txn) lookup(ctx context.Context, query string, args int) *sql.Stmt {
	if t.statements == nil || args == 0 {
		return nil
	}
	if s := t.prepared[query]; s != nil {
		return s
	}
	s := t.statements.get(query)
	if s == nil {
		t.missed = append(t.missed, query)
		return nil
	}
	bound := t.tx.StmtContext(ctx, s)
	if t.prepared == nil {
		t.prepared = make(map[string]*sql.Stmt, 8)
	}
	t.prepared[query] = bound
	return bound
}

// Savepoint sets a savepoint; a later one hides an earlier one until it is
// released or rolled back to and released.
func (t *Txn) Savepoint(ctx context.Context) error {
	_, err := t.tx.ExecContext(ctx, "SAVEPOINT headrace")
	return err
}

// RollbackTo undoes everything since the newest savepoint, which stays set.
func (t *Txn) RollbackTo(ctx context.Context) error {
	_, err := t.tx.ExecContext(ctx, "ROLLBACK TO SAVEPOINT headrace")
	return err
}

// Release forgets the newest savepoint and keeps what was done since.
func (t *Txn) Release(ctx context.Context) error {
	_, err := t.tx.ExecContext(ctx, "RELEASE SAVEPOINT headrace")
	return err
}

// Rollback rolls back and returns the connection to the pool; a connection that
// cannot roll back, or does not within five seconds, is thrown away. It does nothing
// after the end.
func (t *Txn) Rollback() {
	if t.ended {
		return
	}
	t.ended = true
	t.rollback()
}

// Discard ends the transaction by throwing its connection away, even while a
// statement of somebody else's still runs on it.
func (t *Txn) Discard() {
	if t.ended {
		return
	}
	t.ended = true
	if t.kill != nil {
		t.kill()
	}
	t.abandoned.run(func() {
		_ = t.tx.Rollback()
		t.release(true)
	})
}

// release gives the connection back, or out of the pool where it is broken, and
// lets the cache forget what is outdated and learn what was missing.
func (t *Txn) release(broken bool) {
	if t.uncut != nil {
		t.uncut()
	}
	if broken {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = t.conn.Close()
	for _, query := range t.outdated {
		t.statements.forget(query)
	}
	if !broken && t.statements != nil {
		t.statements.learn(t.missed)
	}
}
