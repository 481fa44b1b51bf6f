package postgres

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/lib/pq"
)

// This file has COMMIT of the store's own connections travel with the statement in front of it. lib/pq sends
// several statements in one message if they have no arguments.

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
