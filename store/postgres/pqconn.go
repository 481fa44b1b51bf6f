package postgres

import (
	"context"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/lib/pq"
)

// This file has COMMIT of the store's own connections travel with the statement in front of it: lib/pq sends
// several statements in one message if they have no arguments. And it reads one row without a goroutine (oneRow).

// pqDriver is what a connection of lib/pq has for database/sql.
type pqDriver interface {
	driver.Conn
	transacts
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	reused
}

// transacts is how a connection begins a transaction, and ends it.
type transacts interface {
	driver.ConnBeginTx
	driver.Tx
}

// reused is what database/sql asks a connection that goes back to its pool.
type reused interface {
	driver.SessionResetter
	driver.Validator
}

// pqConn is a connection of lib/pq.
type pqConn struct {
	pqDriver
	from  *connector
	begin pqBegin
	last  *statement // it travels with COMMIT
}

func (c *pqConn) sends(last *statement) { c.last = last }

// Unwrap returns lib/pq's own connection, for the functions of lib/pq that take one.
func (c *pqConn) Unwrap() driver.Conn { return c.pqDriver }

// BeginTx implements driver.ConnBeginTx.
func (c *pqConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if c.begin.waits = c.later(ctx, o); c.begin.waits {
		return pqTx{c}, nil
	}
	if _, err := c.pqDriver.BeginTx(ctx, o); err != nil {
		return nil, err
	}
	return pqTx{c}, nil
}

// pqTx is the transaction of a pqConn.
type pqTx struct{ conn *pqConn }

// Commit implements driver.Tx.
func (t pqTx) Commit() error {
	c, last := t.conn, t.conn.last
	begun, failed := c.end()
	switch {
	case failed: // the connection is thrown away
		return pq.ErrInFailedTransaction
	case !begun:
		return nil
	case last == nil:
		return c.pqDriver.Commit()
	}
	_, err := c.pqDriver.ExecContext(context.Background(), last.query, nil) // the guard of the commit cuts the connection
	if inFront(err) {
		last.failed = err
		_ = c.pqDriver.Rollback()
	}
	return err
}

// Rollback implements driver.Tx.
func (t pqTx) Rollback() error {
	if begun, failed := t.conn.end(); begun || failed {
		return t.conn.pqDriver.Rollback()
	}
	return nil
}

// inFront reports whether err is of the statement in front of COMMIT, so that the transaction is still open:
// it had failed before, or is another one. A trigger that fails like that in COMMIT says where.
func inFront(err error) bool {
	e, ok := errors.AsType[*pq.Error](err)
	return ok && (e.Code == "25P02" || switched(err) && e.Where == "")
}

// ExecContext implements driver.ExecerContext.
func (c *pqConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	row, one := ctx.Value(oneRow{}).(*[]driver.Value)
	if one {
		if rows, ok, err := c.claim(ctx, query, args); ok {
			return readOne(row)(rows, err)
		}
	}
	if err := c.begun(ctx); err != nil {
		return nil, err
	}
	if one {
		return readOne(row)(c.pqDriver.QueryContext(ctx, query, args))
	}
	return c.pqDriver.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c *pqConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	if err := c.begun(ctx); err != nil {
		return nil, err
	}
	return c.pqDriver.QueryContext(ctx, query, args)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *pqConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	if err := c.begun(ctx); err != nil {
		return nil, err
	}
	stmt, err := c.pqDriver.PrepareContext(ctx, query)
	if prepared, ok := stmt.(pqPrepared); ok && err == nil {
		return pqStmt{prepared, c}, nil
	}
	return stmt, err // of COPY: it is not used again
}

// pqPrepared is what a prepared statement of lib/pq has for database/sql.
type pqPrepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// pqStmt is a prepared statement, which a later transaction may use.
type pqStmt struct {
	pqPrepared
	conn *pqConn
}

// ExecContext implements driver.StmtExecContext.
func (s pqStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if err := s.conn.begun(ctx); err != nil {
		return nil, err
	}
	if row, ok := ctx.Value(oneRow{}).(*[]driver.Value); ok {
		return readOne(row)(s.pqPrepared.QueryContext(ctx, args))
	}
	return s.pqPrepared.ExecContext(ctx, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s pqStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	if err := s.conn.begun(ctx); err != nil {
		return nil, err
	}
	return s.pqPrepared.QueryContext(ctx, args)
}

// readOne returns a function that stores the first row of a query in row.
func readOne(row *[]driver.Value) func(driver.Rows, error) (driver.Result, error) {
	return func(rows driver.Rows, err error) (driver.Result, error) {
		if err != nil {
			return nil, err
		}
		values := make([]driver.Value, len(rows.Columns()))
		err = rows.Next(values)
		if end := rows.Close(); err == nil {
			err = end
		}
		switch {
		case errors.Is(err, io.EOF):
			return driver.RowsAffected(0), nil
		case err != nil:
			return nil, err
		}
		*row = values
		return driver.RowsAffected(1), nil
	}
}
