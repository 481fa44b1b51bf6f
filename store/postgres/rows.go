package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
)

// dbtx is *sql.DB or *sql.Tx.
type dbtx interface {
	querier
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// planner runs statements whose plan depends on how large a table is: without a
// prepared statement, since one that was planned while the table was empty would
// read all of it, for the minutes until the server has noticed that it grew.
type planner struct {
	// mode is what keeps pgx from preparing; lib/pq does not by itself.
	mode []any
}

// on returns q, with every statement planned anew.
func (p planner) on(q dbtx) dbtx { return planned{q, p.mode} }

type planned struct {
	q    dbtx
	mode []any
}

func (p planned) args(args []any) []any {
	return append(slices.Clip(p.mode), args...)
}

func (p planned) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	return p.q.ExecContext(ctx, query, p.args(args)...)
}

func (p planned) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return p.q.QueryContext(ctx, query, p.args(args)...)
}

func (p planned) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	return p.q.QueryRowContext(ctx, query, p.args(args)...)
}

// collect runs a query and reads its rows. into says where the columns of a row go.
func collect[T any](ctx context.Context, q querier, query string, args []any, into func(*T) []any) ([]T, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	var all []T
	for rows.Next() {
		var one T
		if err := rows.Scan(into(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}

// column makes an array for unnest of one field of the rows.
func column[R, T any](rows []R, field func(*R) T) any {
	values := make([]T, len(rows))
	for i := range rows {
		values[i] = field(&rows[i])
	}
	return pq.Array(values)
}

// The sizes of text that only people read.
const (
	maxError = 4 << 10
	maxStack = 16 << 10
	maxName  = 1 << 10
	maxTrace = 512
)

// maxOrderKey keeps the entries of our indexes below what a page of one takes.
const maxOrderKey = 1 << 10

// identity refuses what names a message and does not fit a text column. It is
// never cleaned: two names could become one. The value is not shown, since it may
// hold anything.
func identity(names ...string) error {
	for _, name := range names {
		if !encode.Clean(name) {
			return fmt.Errorf("a name of %d bytes is not valid UTF-8 or holds a NUL byte", len(name))
		}
		if len(name) > maxOrderKey {
			return fmt.Errorf("a name of %d bytes is longer than %d", len(name), maxOrderKey)
		}
	}
	return nil
}

// micros is d for a column in microseconds, rounded up so that a delay never
// becomes none.
func micros(d time.Duration) int64 {
	return int64((d + time.Microsecond - 1) / time.Microsecond)
}

// millis is d for a setting in milliseconds, rounded up: 0 would mean "never".
func millis(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}

func fromMicros(us int64) time.Duration { return time.Duration(us) * time.Microsecond }

// bytes is b as a bytea that is never NULL.
func bytes(b []byte) []byte {
	if b == nil {
		return []byte{}
	}
	return b
}

// affected is how many rows a statement changed.
func affected(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// coordinates is c as JSON.
func coordinates(c headrace.Coordinates) string {
	b, err := json.Marshal(c)
	if err != nil {
		panic("postgres: " + err.Error()) // four strings always have a JSON form
	}
	return string(b)
}
