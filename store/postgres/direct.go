package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"io"

	"github.com/lib/pq"

	"github.com/headrace/headrace/store/txn"
)

// direct runs the statements that every group pays for on lib/pq's connection itself,
// prepared there. database/sql and lib/pq each start a goroutine for a query in a
// transaction whose context can end, and with one message in flight those wake-ups cost
// more than the statement. Here the end of ctx cuts the connection instead: for
// statements that the server bounds itself, or after which the connection is given up
// anyway.
//
// It is nil where the connections are the caller's, or nothing is to be prepared.
type direct struct{ c *connector }

// row runs query and returns the columns of its row: those of text, and of types that
// lib/pq does not know, as strings.
func (d *direct) row(ctx context.Context, t *txn.Txn, query string, args ...any) ([]driver.Value, error) {
	stop, ok := t.Guard(ctx)
	if !ok {
		return nil, errIndirect
	}
	defer stop()
	var values []driver.Value
	var err error
	// Not from Raw: on driver.ErrBadConn it waits for the transaction to end.
	raw := t.Raw(func(driverConn any) error {
		values, err = d.on(driverConn, query, args)
		return nil
	})
	return values, errors.Join(err, raw)
}

// on is row on a driver's connection, which the caller has for itself.
func (d *direct) on(driverConn any, query string, args []any) ([]driver.Value, error) {
	known, ok := d.c.links.Load(driverConn)
	if !ok {
		return nil, errIndirect
	}
	l := known.(*link)
	statement, err := l.prepare(driverConn, query)
	if err != nil {
		return nil, err
	}
	values, err := oneRow(statement, args)
	if txn.Classify(err) == txn.Serialization { // it may have outlived the schema
		delete(l.prepared, query)
	}
	return values, err
}

// errIndirect says that a connection is not one of ours.
var errIndirect = errors.New("not a connection of lib/pq that this store made")

// prepare returns query prepared on the connection of l. The caller has it for itself.
func (l *link) prepare(driverConn any, query string) (driver.StmtQueryContext, error) {
	if s := l.prepared[query]; s != nil {
		return s, nil
	}
	preparer, ok := driverConn.(driver.ConnPrepareContext)
	if !ok {
		return nil, errIndirect
	}
	made, err := preparer.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	s, ok := made.(driver.StmtQueryContext)
	if !ok {
		_ = made.Close()
		return nil, errIndirect
	}
	if l.prepared == nil {
		l.prepared = make(map[string]driver.StmtQueryContext, 4)
	}
	l.prepared[query] = s
	return s, nil
}

// oneRow runs s for one row.
func oneRow(s driver.StmtQueryContext, args []any) ([]driver.Value, error) {
	named := make([]driver.NamedValue, len(args))
	for i, arg := range args {
		named[i] = driver.NamedValue{Ordinal: i + 1, Value: arg}
	}
	rows, err := s.QueryContext(context.Background(), named)
	if err != nil {
		return nil, err
	}
	values := make([]driver.Value, len(rows.Columns()))
	err = rows.Next(values)
	if errors.Is(err, io.EOF) {
		err = sql.ErrNoRows
	}
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			values[i] = string(b) // the next row, or the next query, has its bytes
		}
	}
	return values, errors.Join(err, rows.Close())
}

// array reads a text[] that may be NULL.
func array(v driver.Value) ([]string, error) {
	var list pq.StringArray
	err := list.Scan(v)
	return list, err
}
