package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"time"

	driversqlite "modernc.org/sqlite"

	"github.com/headrace/headrace/store/txn"
)

// native is the driver's connection, with the methods that may be called through ours.
// The hooks are left out: conn depends on them.
type native interface {
	nativeConn
	nativeFile
}

// nativeConn is what database/sql needs of a connection.
type nativeConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// nativeFile is what SQLite offers in addition.
type nativeFile interface {
	// NewBackup starts an online backup into the file of the URI.
	NewBackup(uri string) (*driversqlite.Backup, error)
	// IsReadOnly reports whether the database of that name is read-only.
	IsReadOnly(schema string) (bool, error)
}

// conn is a connection that passes the gate before it writes, and watches the framework's
// transactions. SQLite may end a transaction by itself (disk full, INSERT OR ROLLBACK, a
// statement interrupted by its context). It would then commit each later statement at
// once, without the record that the message was handled. The same happens after a COMMIT
// in a handler's SQL. The hooks of the connection see both; see tx.
//
// database/sql uses a connection in one goroutine at a time; only kill may be called
// concurrently.
type conn struct {
	native
	gate  *gate         // nil for a connection that only reads
	busy  time.Duration // bounds BEGIN if its context has no deadline
	tx    *tx           // the open transaction that writes, or nil
	spent bool          // tx could not be ended: the connection must be closed

	mu      sync.Mutex
	dead    bool      // kill was called
	running *killable // what kill interrupts, or nil
}

// run runs a statement with f, unless the transaction has ended, and records whether the
// statement has ended it.
func run[T any](ctx context.Context, c *conn, f func(context.Context) (T, error)) (result T, err error) {
	t := c.tx
	if t == nil {
		result, err = f(ctx)
		if err != nil && c.gate != nil && len(c.gate.turn) > 0 && txn.Classify(err) == txn.LockTimeout {
			err = &lockedError{err, true}
		}
		return result, err
	}
	if err := t.ended(); err != nil {
		return result, err
	}
	ctx, end := c.interruptible(ctx)
	defer end()
	result, err = f(ctx)
	return result, t.after(err)
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	return run(ctx, c, func(ctx context.Context) (driver.Result, error) { return c.native.ExecContext(ctx, query, args) })
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	return run(ctx, c, func(ctx context.Context) (driver.Rows, error) { return c.native.QueryContext(ctx, query, args) })
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.native.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	both, ok := s.(nativeStmt)
	if !ok {
		_ = s.Close()
		return nil, errors.New("the driver's statements take no context")
	}
	return &stmt{nativeStmt: both, c: c}, nil
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// ResetSession implements driver.SessionResetter.
func (c *conn) ResetSession(ctx context.Context) error {
	if c.spent {
		return driver.ErrBadConn
	}
	return c.native.ResetSession(ctx)
}

// IsValid implements driver.Validator.
func (c *conn) IsValid() bool { return !c.spent && c.native.IsValid() }

// Close implements driver.Conn. Closing ends an open transaction.
func (c *conn) Close() error {
	err := c.native.Close()
	if c.tx != nil {
		c.tx.turn.leave(true)
		c.tx = nil
	}
	return err
}

// nativeStmt is a prepared statement of the driver.
type nativeStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// stmt is a prepared statement of a conn.
type stmt struct {
	nativeStmt
	c *conn
}

func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return run(ctx, s.c, func(ctx context.Context) (driver.Result, error) { return s.nativeStmt.ExecContext(ctx, args) })
}

func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return run(ctx, s.c, func(ctx context.Context) (driver.Rows, error) { return s.nativeStmt.QueryContext(ctx, args) })
}
