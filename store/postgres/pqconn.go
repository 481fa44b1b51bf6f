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
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	reused
}

// reused is what database/sql asks a connection that goes back to its pool.
type reused interface {
	driver.SessionResetter
	driver.Validator
}

// pqConn is a connection of lib/pq.
type pqConn struct {
	pqDriver
	from *connector
	last *statement // it travels with COMMIT
}

func (c *pqConn) sends(last *statement) { c.last = last }

// Unwrap returns lib/pq's own connection, for the functions of lib/pq that take one.
func (c *pqConn) Unwrap() driver.Conn { return c.pqDriver }

// BeginTx implements driver.ConnBeginTx.
func (c *pqConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.last = nil
	tx, err := c.pqDriver.BeginTx(ctx, o)
	if err != nil {
		return nil, err
	}
	return pqTx{tx, c}, nil
}

// pqTx is a transaction of a pqConn.
type pqTx struct {
	driver.Tx
	conn *pqConn
}

// Commit implements driver.Tx.
func (t pqTx) Commit() error {
	last := t.conn.last
	if last == nil {
		return t.Tx.Commit()
	}
	t.conn.last = nil
	_, err := t.conn.ExecContext(context.Background(), last.query, nil) // the guard of the commit cuts the connection
	if inFront(err) {
		last.failed = err
		_ = t.Tx.Rollback()
	}
	return err
}

// inFront reports whether err is of the statement in front of COMMIT, so that the transaction is still open:
// it had failed before, or is another one. A trigger that fails like that in COMMIT says where.
func inFront(err error) bool {
	e, ok := errors.AsType[*pq.Error](err)
	return ok && (e.Code == "25P02" || switched(err) && e.Where == "")
}

// ExecContext implements driver.ExecerContext.
func (c *pqConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if row, ok := ctx.Value(oneRow{}).(*[]driver.Value); ok {
		return readOne(row)(c.pqDriver.QueryContext(ctx, query, args))
	}
	return c.pqDriver.ExecContext(ctx, query, args)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c *pqConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	stmt, err := c.pqDriver.PrepareContext(ctx, query)
	if err != nil || !c.from.ours(query) {
		return stmt, err
	}
	return pqStmt{stmt.(pqPrepared)}, nil
}

// pqPrepared is what a prepared statement of lib/pq has for database/sql.
type pqPrepared interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

// pqStmt is a prepared statement of ours.
type pqStmt struct{ pqPrepared }

// ExecContext implements driver.StmtExecContext.
func (s pqStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	if row, ok := ctx.Value(oneRow{}).(*[]driver.Value); ok {
		return readOne(row)(s.QueryContext(ctx, args))
	}
	return s.pqPrepared.ExecContext(ctx, args)
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
