package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"sync"
	"time"

	driversqlite "modernc.org/sqlite"
)

// native is a connection of the driver, as far as it may be reached through ours.
// The hooks are left out: conn lives by them.
type native interface {
	nativeConn
	nativeFile
}

// nativeConn is what database/sql asks of a connection.
type nativeConn interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// nativeFile is what SQLite offers beyond that.
type nativeFile interface {
	// NewBackup starts an online backup into the file of the URI.
	NewBackup(uri string) (*driversqlite.Backup, error)
	// IsReadOnly reports whether the database of that name can only be read.
	IsReadOnly(schema string) (bool, error)
}

// conn is a connection that passes the gate before it writes, and that keeps
// watch over the framework's transactions: SQLite may end a transaction by itself
// (disk full, INSERT OR ROLLBACK, a statement interrupted by its context), and
// what is executed after that would be committed at once, statement by statement,
// without the record that the message was handled. So would what a handler does
// after a COMMIT of its own. The hooks of the connection see both; see tx.
//
// database/sql calls a connection from one goroutine at a time; only kill may be
// called beside it.
type conn struct {
	native
	gate  *gate         // nil for a connection that only reads
	busy  time.Duration // bounds BEGIN where its context has no deadline
	tx    *tx           // the open transaction that writes, or nil
	spent bool          // tx could not be ended: the connection must go

	mu      sync.Mutex
	dead    bool      // kill was called
	running *killable // what kill interrupts, or nil
}

// usable says why no statement may run.
func (c *conn) usable() error {
	if c.tx == nil {
		return nil
	}
	return c.tx.ended()
}

// ExecContext implements driver.ExecerContext.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	ctx, end := c.interruptible(ctx)
	defer end()
	result, err := c.native.ExecContext(ctx, query, args)
	return result, c.after(err)
}

// QueryContext implements driver.QueryerContext.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.usable(); err != nil {
		return nil, err
	}
	ctx, end := c.interruptible(ctx)
	defer end()
	rows, err := c.native.QueryContext(ctx, query, args)
	return rows, c.after(err)
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

// after takes note of a transaction that the statement before has ended.
func (c *conn) after(err error) error {
	if c.tx == nil {
		return err
	}
	return c.tx.after(err)
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

// ExecContext implements driver.StmtExecContext.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.c.usable(); err != nil {
		return nil, err
	}
	ctx, end := s.c.interruptible(ctx)
	defer end()
	result, err := s.nativeStmt.ExecContext(ctx, args)
	return result, s.c.after(err)
}

// QueryContext implements driver.StmtQueryContext.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.c.usable(); err != nil {
		return nil, err
	}
	ctx, end := s.c.interruptible(ctx)
	defer end()
	rows, err := s.nativeStmt.QueryContext(ctx, args)
	return rows, s.c.after(err)
}
