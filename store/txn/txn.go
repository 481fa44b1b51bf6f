package txn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// Options configure Begin. The zero value is a transaction with the database's default
// isolation and without a statement cache.
type Options struct {
	// SQL is passed to database/sql. Stores set the isolation explicitly.
	SQL sql.TxOptions
	// Statements caches prepared statements; nil means none. Cached reports which of the
	// transaction's queries use the cache; nil means all.
	Statements *Statements
	Cached     func(query string) bool
	// RolledBack recognises the driver's own errors, without a code, that mean "was
	// rolled back". May be nil.
	RolledBack func(error) bool
	// Severity returns the severity of a server error, "" if it is unknown. May be nil.
	Severity func(error) string
	// Kill returns a function that cuts a connection on which BEGIN, COMMIT or ROLLBACK
	// gets no answer. It returns nil for a connection that cannot be reached; a goroutine
	// then waits for the answer. The function may be called from any goroutine, also
	// twice. Kill is nil for a database without a network, which always answers.
	Kill func(conn *sql.Conn) func()
	// Begins says that BEGIN itself ends with Begin's context, and with a better error
	// than that of a cut connection.
	Begins bool
	// Abandoned counts the abandoned calls; nil means a private counter.
	Abandoned *Abandoned
	// Script are the arguments that make the driver send several statements, without
	// arguments of their own, in one message. Most drivers need none.
	Script []any
	// Alive is the query of Txn.Alive, which returns its argument; "" if no handler can
	// make a transaction unusable.
	Alive string
	// CheckDeferred are the statements of Txn.CheckDeferred, Restore those of
	// Txn.Restore, and CloseCursors those of the function CloseCursors; "" if the database cannot do that.
	CheckDeferred, Restore, CloseCursors string
	// Switched does what the function Switched says; nil if no handler can end a transaction.
	Switched func(ctx context.Context, t *Txn) bool
	// TryCommit does what the function TryCommit says, except for the rollback, for a database without
	// CheckDeferred.
	TryCommit func(ctx context.Context, t *Txn) error
}

// Limits are timeouts that the server enforces, so that a transaction ends even if this
// process cannot end it. For each, 0 leaves the server's setting. SQLite ignores them.
type Limits struct {
	// Idle ends the transaction when it waits longer for its next statement.
	Idle time.Duration
	// Statement cancels a statement that runs longer. It never raises the database's own
	// limit for the role.
	Statement time.Duration
}

// Txn is a transaction on its own connection. One goroutine uses it at a time. Its
// statement methods are those of headrace.DBTX.
type Txn struct {
	conn       *sql.Conn
	tx         *sql.Tx
	o          *Options
	bound      bound
	kill       func()
	uncut      func() // stops the guards of CutAfter; or nil
	id         string
	savepoints int // how many were set
	ended      bool
	retired    bool  // the connection must not be used again
	lost       error // the database did not answer ROLLBACK
	broken     error // from Alive: the connection must not be used
	// unreachable says that kill is nil although an answer may never come.
	unreachable bool
}

// Begin takes a connection from db, waiting for one until ctx ends, and begins. If BEGIN
// gets no answer before ctx ends, the connection is cut or abandoned, and the error is of
// class Connection. The transaction itself does not end with ctx: the caller ends it.
func Begin(ctx context.Context, db *sql.DB, o Options) (*Txn, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, fmt.Errorf("take a connection: %w", err)
	}
	if o.Abandoned == nil {
		o.Abandoned = new(Abandoned)
	}
	t := &Txn{conn: conn, o: &o}
	if err := t.begin(ctx); err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	return t, nil
}

// SetID stores the database's id of this transaction; ID returns it. A store sets it with
// the claim and compares it at the commit: a different id shows that the handler ended
// the transaction.
func (t *Txn) SetID(id string) { t.id = id }

// ID returns the id of SetID; "" if there is none.
func (t *Txn) ID() string { return t.id }

// SQL returns the *sql.Tx. Committing or rolling it back breaks the rules of this
// package; Store.Commit detects that.
func (t *Txn) SQL() *sql.Tx { return t.tx }

// Raw calls f with the driver's connection while the transaction is open. f must not keep
// it, nor panic.
//
// database/sql does not see f's error: after driver.ErrBadConn it would wait here for the
// end of the transaction, which is the caller's.
func (t *Txn) Raw(f func(driverConn any) error) (err error) {
	closed := t.conn.Raw(func(conn any) error {
		err = raw(conn, f)
		return nil
	})
	if closed != nil {
		return closed
	}
	return err
}

func raw(conn any, f func(driverConn any) error) error {
	if late, ok := conn.(interface{ Begun() error }); ok { // its BEGIN waits for a statement
		if err := late.Begun(); err != nil {
			return err
		}
	}
	return f(conn)
}

// Guarded returns ctx without its end, for our own short statements in t: until stop is
// called, that end cuts the connection. A driver's own watch of a context is a goroutine
// for each statement. ctx remains as it is if the connection cannot be reached.
func Guarded(ctx context.Context, t *Txn) (_ context.Context, stop func() bool) {
	if t.kill == nil {
		return ctx, func() bool { return true }
	}
	return context.WithoutCancel(ctx), context.AfterFunc(ctx, t.kill)
}

// ExecContext runs a statement, prepared if it is cached.
func (t *Txn) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if s := t.bound.lookup(ctx, t, query, len(args)); s != nil {
		r, err := s.ExecContext(ctx, args...)
		t.bound.look(query, err)
		return r, err
	}
	return t.tx.ExecContext(ctx, query, args...)
}

// QueryContext runs a query, prepared if it is cached.
func (t *Txn) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if s := t.bound.lookup(ctx, t, query, len(args)); s != nil {
		r, err := s.QueryContext(ctx, args...)
		t.bound.look(query, err)
		return r, err
	}
	return t.tx.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query for one row, prepared if it is cached.
func (t *Txn) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if s := t.bound.lookup(ctx, t, query, len(args)); s != nil {
		r := s.QueryRowContext(ctx, args...)
		t.bound.look(query, r.Err())
		return r
	}
	return t.tx.QueryRowContext(ctx, query, args...)
}

// PrepareContext prepares a statement for this transaction. The caller closes it.
func (t *Txn) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	return t.tx.PrepareContext(ctx, query)
}

// Rollback rolls back and returns the connection to the pool. It throws away a connection
// that cannot roll back, or does not within five seconds. It does nothing if the
// transaction has ended.
func (t *Txn) Rollback() {
	if t.ended {
		return
	}
	t.ended = true
	t.lost = t.rollback()
}

// Lost returns nil, after Rollback or Discard, if the database has answered the ROLLBACK.
// It thereby tells a lost connection from other errors. The error matches sql.ErrTxDone
// if other code ended the transaction through SQL.
func (t *Txn) Lost() error { return t.lost }

// Discard ends the transaction by throwing its connection away, even while a handler's
// statement still runs on it.
func (t *Txn) Discard() {
	if t.ended {
		return
	}
	t.ended, t.lost = true, errNoAnswer
	if t.kill != nil {
		t.kill()
	}
	t.o.Abandoned.Run(func() {
		_ = t.tx.Rollback()
		t.release(true)
	})
}

// Retire has the connection closed when the transaction has ended, because its session is
// not as it was.
func (t *Txn) Retire() { t.retired = true }

// release returns the connection to the pool, or throws it away if it is broken.
func (t *Txn) release(broken bool) {
	if t.uncut != nil {
		t.uncut()
	}
	if broken || t.retired {
		_ = t.conn.Raw(func(any) error { return driver.ErrBadConn })
	}
	_ = t.conn.Close()
	t.bound.end(t.o.Statements, broken)
}
