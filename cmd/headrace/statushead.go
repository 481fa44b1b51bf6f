package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// printHeadline names the database, and the version of its tables.
func (m *Main) printHeadline(ctx context.Context, st openStore) error {
	db, err := m.locate()
	if err != nil {
		return err
	}
	version, _, err := schemaOf(ctx, st)
	if err != nil {
		return err
	}
	kind := "SQLite"
	if db.postgres != "" {
		kind = fmt.Sprintf("PostgreSQL, schema %q", cmp.Or(strings.TrimSpace(m.flags.schema), "public"))
	}
	return m.line("%s: %s version %d   %s", db.shown, kind, version, time.Now().UTC().Format("15:04:05 MST"))
}
