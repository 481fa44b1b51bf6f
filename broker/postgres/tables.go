package postgres

import (
	"context"
	"database/sql"
	"embed"
	"fmt"

	"github.com/headrace/headrace/internal/sqlfile"
)

//go:embed queries/*.sql
var files embed.FS

// statements are the statements for one schema.
type statements map[string]string

func load(schema string) (statements, error) {
	all, err := sqlfile.Load(files, "queries", quoted(schema))
	if err != nil {
		return nil, fmt.Errorf("load statements: %w", err)
	}
	return all, nil
}

func (s statements) get(name string) string { return sqlfile.Get(s, name) }

// Create makes the tables in schema ("" is public), which must exist; existing tables
// stay as they are. Two concurrent calls are safe.
func Create(ctx context.Context, db *sql.DB, schema string) error {
	if schema == "" {
		schema = "public"
	}
	all, err := load(schema)
	if err != nil {
		return err
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("create the queue's tables: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	for _, name := range []string{"create_lock", "create_groups", "create_queue"} {
		if _, err := tx.ExecContext(ctx, all.get(name)); err != nil {
			return fmt.Errorf("create the queue's tables: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("create the queue's tables: %w", err)
	}
	return nil
}

// Remove removes the queue of a group with the messages in it. A subscription to it ends.
func Remove(ctx context.Context, db *sql.DB, schema, topic, group string) error {
	if schema == "" {
		schema = "public"
	}
	all, err := load(schema)
	if err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, all.get("unsubscribe"), topic, group); err != nil {
		return fmt.Errorf("remove the queue: %w", err)
	}
	return nil
}
