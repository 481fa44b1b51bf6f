package headrace

import (
	"context"
	"database/sql"
)

// Execer is the part of DBTX that writing into the outbox needs: *sql.Tx, *Tx,
// bun.Tx, *sqlx.Tx, gorm's ConnPool and ent's Tx have it.
type Execer interface {
	// ExecContext runs a statement, as database/sql has it.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}
