package sqlrun

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Querier runs statements: a pool or a transaction.
type Querier interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	Reader
}

// Reader runs queries.
type Reader interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Driver implements what differs between databases.
type Driver interface {
	store.Transactor
	// CommitOne runs a statement in a transaction of its own, in one round trip, and returns
	// how many rows it changed. The error matches txn.ErrRolledBack or
	// txn.ErrCommitUnknown, or comes from before the statement was sent: the statement must
	// be one that may run twice.
	CommitOne(ctx context.Context, query string, args ...any) (int, error)
	// Reader runs queries outside of a transaction.
	Reader() Reader
	// Many returns the arguments by which one statement gets many rows. A column is a
	// []string, []int64, []bool or [][]byte, and all have the same length. [][]byte is for
	// Each alone.
	Many(columns ...any) []any
	// Each returns the arguments of the statements that together insert many rows: one
	// statement for all of them, or one for each row, whose last argument is then how
	// many follow.
	Each(columns ...any) [][]any
	// Draw takes n ids of a sequence for the next statement that uses it.
	Draw(ctx context.Context, t *txn.Txn, sequence string, n int) error
	// Time returns the argument for a time; NULL if it is zero.
	Time(t time.Time) any
}

// Table is a driver with a table's statements. The fields of S are as in sqlfile.Set.Fill.
type Table[S any] struct {
	Driver
	SQL S
}

// Load sets the driver, and the statements whose names begin with prefix.
func (t *Table[S]) Load(d Driver, q sqlfile.Set, prefix string) {
	t.Driver = d
	q.Fill(prefix, &t.SQL)
}

// Loaded returns table, a type that embeds a Table, after its Load.
func Loaded[T interface {
	Load(d Driver, q sqlfile.Set, prefix string)
}](d Driver, q sqlfile.Set, prefix string, table T) T {
	table.Load(d, q, prefix)
	return table
}

// Transact runs f in its own transaction.
func (t *Table[S]) Transact(ctx context.Context, f func(*txn.Txn) error) error {
	return store.Transact(ctx, t, f)
}

// Write runs a statement in its own transaction, and returns how many rows it changed.
func (t *Table[S]) Write(ctx context.Context, query string, args ...any) (n int, err error) {
	err = t.Transact(ctx, func(tx *txn.Txn) error {
		n, err = Affected(tx.ExecContext(ctx, query, args...))
		return err
	})
	return n, err
}

// WriteRecorded runs a statement and, if it changes a row, record in the same transaction. It
// reports whether a row changed.
func (t *Table[S]) WriteRecorded(ctx context.Context, query string, args []any, record string, recordArgs ...any) (changed bool, err error) {
	err = t.Transact(ctx, func(tx *txn.Txn) error {
		n, err := Affected(tx.ExecContext(ctx, query, args...))
		if changed = n > 0; err != nil || !changed {
			return err
		}
		_, err = tx.ExecContext(ctx, record, recordArgs...)
		return err
	})
	return changed && err == nil, err
}

// Steps runs statements with the same arguments; those that the dialect lacks are "".
func Steps(ctx context.Context, q Querier, args []any, queries ...string) error {
	for _, query := range queries {
		if query == "" {
			continue
		}
		if _, err := q.ExecContext(ctx, query, args...); err != nil {
			return err
		}
	}
	return nil
}

// Affected returns how many rows a statement changed.
func Affected(result sql.Result, err error) (int, error) {
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// Wrap prefixes the error that err points to with what; nil stays nil. A method defers it.
func Wrap(what string, err *error) {
	if *err != nil {
		*err = fmt.Errorf("%s: %w", what, *err)
	}
}

// Collect runs a query and reads its rows. into returns the destinations of a row's
// columns.
func Collect[T any](ctx context.Context, q Reader, query string, args []any, into func(*T) []any) (all []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err2 := rows.Close(); err == nil {
			err = err2
		}
	}()
	for rows.Next() {
		var one T
		if err := rows.Scan(into(&one)...); err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, rows.Err()
}
