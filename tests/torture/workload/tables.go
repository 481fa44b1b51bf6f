package workload

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/headrace/headrace/internal/sqlfile"
)

//go:embed queries/*.sql
var queryFiles embed.FS

// queries are the statements of queries/, which both databases take.
var queries = func() map[string]string {
	q, err := sqlfile.Load(queryFiles, "queries", "")
	if err != nil {
		panic(err) // they are part of the program
	}
	return q
}()

// CreateTables makes the workload's own tables.
func CreateTables(ctx context.Context, db *sql.DB) error {
	for _, name := range []string{"create_effects", "create_effects_index", "create_emitted", "create_lists", "create_cures"} {
		if _, err := db.ExecContext(ctx, queries[name]); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}
