package postgres

import (
	"context"
	"database/sql"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// dialect implements sqlrun.Driver.
type dialect struct{ *Store }

func (d dialect) Reader() sqlrun.Reader { return d.statements }

// Many returns an array for each column, as a text: pgx would parse what pq.Array makes, and
// write it anew.
func (d dialect) Many(columns ...any) []any {
	args := make([]any, len(columns))
	for i, column := range columns {
		switch column := column.(type) {
		case []string:
			args[i] = texts(column, func(s *string) string { return *s })
		case []int64:
			args[i] = integers(column, func(n *int64) int64 { return *n })
		case [][]byte:
			args[i] = blobs(column)
		default:
			args[i] = pq.Array(column)
		}
	}
	return args
}

// Each gives all rows to one statement.
func (d dialect) Each(columns ...any) [][]any { return [][]any{d.Many(columns...)} }

// Draw does nothing: statements draw by themselves.
func (dialect) Draw(context.Context, *txn.Txn, string, int) error { return nil }

func (dialect) Time(t time.Time) any { return sql.NullTime{Time: t, Valid: !t.IsZero()} }
