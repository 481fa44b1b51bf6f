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

// Many returns an array for each column.
func (d dialect) Many(columns ...any) []any {
	args := make([]any, len(columns))
	for i, column := range columns {
		if b, ok := column.([][]byte); ok {
			args[i] = blobs(b)
			continue
		}
		args[i] = pq.Array(column)
	}
	return args
}

// Each gives all rows to one statement.
func (d dialect) Each(columns ...any) [][]any { return [][]any{d.Many(columns...)} }

// Draw does nothing: statements draw by themselves.
func (dialect) Draw(context.Context, *txn.Txn, string, int) error { return nil }

func (dialect) Time(t time.Time) any { return sql.NullTime{Time: t, Valid: !t.IsZero()} }
