package main

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"
)

// headline names the database, and the version of its tables.
func (m *Main) headline(ctx context.Context, st openStore) (string, error) {
	db, err := m.locate()
	if err != nil {
		return "", err
	}
	all, err := st.Migrations(ctx)
	if err != nil {
		return "", err
	}
	version := 0
	for _, one := range all {
		if one.Applied {
			version = max(version, one.Version)
		}
	}
	kind := "SQLite"
	if db.postgres != "" {
		kind = fmt.Sprintf("PostgreSQL, schema %q", cmp.Or(strings.TrimSpace(m.flags.schema), "public"))
	}
	return fmt.Sprintf("%s: %s version %d   %s", db.shown, kind, version, time.Now().UTC().Format("15:04:05 MST")), nil
}

func (m *Main) printHeadline(ctx context.Context, st openStore) error {
	head, err := m.headline(ctx, st)
	if err != nil {
		return err
	}
	return m.line("%s", head)
}
