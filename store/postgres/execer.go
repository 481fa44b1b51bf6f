package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"

	"github.com/jackc/pgx/v5"

	"github.com/headrace/headrace"
)

// Execer lets code that takes a transaction of database/sql run statements in tx, above all
// to write events in a transaction that the program has begun with pgx:
//
//	outbox.New(st.Outbox()).Publish(ctx, postgres.Execer(tx), event)
//
// tx may be any transaction in the store's database, also one of a pool that the store does
// not use. For a handler's events use Tx.Publish.
func Execer(tx pgx.Tx) headrace.Execer { return execer{tx} }

// execer is tx with the method of database/sql. It has Commit, as outbox.Publish expects of
// a transaction.
type execer struct{ pgx.Tx }

// ExecContext implements headrace.Execer.
func (e execer) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	tag, err := e.Exec(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return driver.RowsAffected(tag.RowsAffected()), nil
}
