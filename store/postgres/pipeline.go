package postgres

import (
	"bytes"
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// This file sends our statements in one round trip with BEGIN and with COMMIT. The
// messages of a round trip have one end (Sync, or one simple query): if one statement
// fails, the server skips the rest, so a BEGIN that fails lets no claim commit by itself,
// and COMMIT runs only behind statements that have worked.

// lateBegin is the key in a context of BeginTx that has BEGIN travel with the first
// statement.
type lateBegin struct{}

// statement is one of ours, with its arguments.
type statement struct {
	query  string
	args   []any
	failed error // its own, where it has travelled with COMMIT
}

// sender is a connection whose next COMMIT can travel with a statement: a poolConn or a pqConn.
type sender interface{ sends(last *statement) }

// Begun sends BEGIN if that waits for the first statement.
func (c *poolConn) Begun() error {
	if c.late == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), commitTimeout)
	defer cancel()
	return c.begun(ctx)
}

func (c *poolConn) begun(ctx context.Context) error {
	if c.late == nil {
		return nil
	}
	return c.first(ctx, func() (err error) {
		var tx pgx.Tx
		if tx, err = c.Conn().BeginTx(ctx, *c.late); err == nil {
			c.tx, c.late = tx, nil
		}
		return err
	})
}

// first calls begin, which begins the transaction. A connection that had ended while it
// was idle in the pool is replaced: nothing can have been committed on it.
// If it cannot be begun, no later statement begins it.
func (c *poolConn) first(ctx context.Context, begin func() error) error {
	if c.late != nil && c.failed != nil {
		return fmt.Errorf("the transaction could not be begun: %w", c.failed)
	}
	for tries := c.from.pool.Stat().TotalConns() + 2; ; tries-- {
		err := begin()
		c.failed = err
		if err == nil || !idleEnd(err) || !c.Conn().IsClosed() || tries <= 0 || ctx.Err() != nil {
			return err
		}
		if failed := c.replace(ctx); failed != nil {
			return errors.Join(err, failed)
		}
	}
}

// replace takes another connection of the pool. A cut ends its wait for one.
func (c *poolConn) replace(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	c.mu.Lock()
	c.stop = cancel
	cut := c.wasCut
	c.mu.Unlock()
	if cut {
		return driver.ErrBadConn
	}
	_ = c.stdConn.Close()
	conn, err := c.from.Connector.Connect(ctx)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stop = nil
	if err == nil && c.wasCut {
		_ = conn.Close()
		err = driver.ErrBadConn
	}
	if err != nil {
		return err
	}
	c.stdConn = conn.(*stdlib.Conn)
	return nil
}

// cut ends every read and write on the connection. It may be called from any goroutine,
// and does nothing once the pool has the connection again.
func (c *poolConn) cut() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.wasCut = true
	switch {
	case c.gone:
	case c.stop != nil:
		c.stop()
	default:
		_ = c.Conn().PgConn().Conn().Close()
	}
}

// oneRow is the key in a context of ExecContext of a *[]driver.Value, which gets the row that
// one of our statements returns, if there is one: for each query in a transaction
// database/sql begins a goroutine that watches the context.
type oneRow struct{}

func (c *poolConn) execOne(ctx context.Context, query string, args []driver.NamedValue, row *[]driver.Value) (driver.Result, error) {
	var all *allRows
	var err error
	if c.late != nil {
		all, err = c.queryFirst(ctx, query, args)
	} else if err = c.ready(ctx, query, args); err == nil {
		all, err = readAll(c.Conn().Query(ctx, query, valuesOf(args)...))
		c.look(query, err)
	}
	if err != nil {
		return nil, err
	}
	if len(all.rows) > 0 {
		*row = all.rows[0]
	}
	return driver.RowsAffected(len(all.rows)), nil
}

func valuesOf(args []driver.NamedValue) []any {
	values := make([]any, len(args))
	for i := range args {
		values[i] = args[i].Value
	}
	return values
}

// queryFirst runs the first statement of a transaction in one round trip with BEGIN.
func (c *poolConn) queryFirst(ctx context.Context, query string, args []driver.NamedValue) (rows *allRows, err error) {
	err = c.first(ctx, func() error {
		if err := c.prepare(ctx, query, args); err != nil {
			return err
		}
		b := new(pgx.Batch)
		b.BeginTx(*c.late)
		b.Queue(query, valuesOf(args)...)
		results := c.Conn().SendBatch(ctx, b)
		_, err := results.Exec()
		if err == nil {
			rows, err = readAll(results.Query())
		}
		if end := results.Close(); err == nil {
			err = end
		}
		if c.Conn().PgConn().TxStatus() != 'I' {
			c.tx, c.late = results.Tx(), nil
		}
		return err
	})
	c.look(query, err)
	return rows, err
}

// commit commits, in one round trip with the statement of c.last.
func (c *poolConn) commit() error {
	last := c.last
	c.last = nil
	switch {
	case c.late != nil && c.failed != nil:
		return pgx.ErrTxCommitRollback
	case c.late != nil: // nothing was sent
		return nil
	case last == nil:
		return c.tx.Commit(context.Background())
	}
	err := c.commitWith(last)
	c.look(last.query, last.failed)
	switch conn := c.Conn(); {
	case conn.IsClosed():
	case conn.PgConn().TxStatus() != 'I':
		_ = c.tx.Rollback(context.Background())
	case c.lent:
		ended, cancel := context.WithCancel(context.Background())
		cancel()
		_ = c.tx.Commit(ended) // sends nothing, and closes what the handler has of it
	}
	return err
}

// commitWith sends the statement and COMMIT. If the statement has failed, nothing is
// committed.
func (c *poolConn) commitWith(last *statement) error {
	ctx := context.Background() // the guard of the commit cuts the connection
	if last.failed = c.prepare(ctx, last.query, []driver.NamedValue{{}}); last.failed != nil {
		return last.failed
	}
	b := new(pgx.Batch)
	b.Queue(last.query, last.args...)
	b.Queue("commit")
	results := c.Conn().SendBatch(ctx, b)
	if _, last.failed = results.Exec(); last.failed != nil {
		_ = results.Close()
		return last.failed
	}
	tag, err := results.Exec()
	if end := results.Close(); err == nil {
		err = end
	}
	if err == nil && tag.String() != "COMMIT" {
		err = pgx.ErrTxCommitRollback // the transaction had failed before
	}
	return err
}

// allRows are the rows of a statement that has ended.
type allRows struct {
	columns []string
	rows    [][]driver.Value
}

// readAll reads rows to their end.
func readAll(rows pgx.Rows, err error) (*allRows, error) {
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	all := new(allRows)
	for rows.Next() {
		values, err := rows.Values()
		if err != nil {
			return nil, err
		}
		row := make([]driver.Value, len(values))
		for i, v := range values {
			if row[i], err = value(rows, i, v); err != nil {
				return nil, err
			}
		}
		all.rows = append(all.rows, row)
	}
	for _, field := range rows.FieldDescriptions() {
		all.columns = append(all.columns, field.Name)
	}
	return all, rows.Err()
}

// value returns v, column i, as database/sql has values of that type: arrays and other
// types as their text.
func value(rows pgx.Rows, i int, v any) (driver.Value, error) {
	switch v := v.(type) {
	case nil, bool, int64, float64, string, time.Time:
		return v, nil
	case int16:
		return int64(v), nil
	case int32:
		return int64(v), nil
	case float32:
		return float64(v), nil
	case []byte:
		return bytes.Clone(v), nil
	}
	text, err := rows.Conn().TypeMap().Encode(rows.FieldDescriptions()[i].DataTypeOID, pgx.TextFormatCode, v, nil)
	return string(text), err
}

// Columns implements driver.Rows.
func (r *allRows) Columns() []string { return r.columns }

// Close implements driver.Rows.
func (r *allRows) Close() error { return nil }

// Next implements driver.Rows.
func (r *allRows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	copy(dest, r.rows[0])
	r.rows = r.rows[1:]
	return nil
}
