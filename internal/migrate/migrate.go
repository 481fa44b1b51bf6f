package migrate

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/store"
)

// History is what was applied to a schema, in its database. Stores implement it.
type History interface {
	// Schema names the schema of the tables; "" for the default of the command headrace.
	Schema() string
	// Meta returns the row of headrace_meta, without waiting for a process that migrates;
	// zero if there is no table.
	Meta(ctx context.Context) (store.Meta, error)
	// Locked calls f with the row while no other process migrates this schema. apply runs a
	// script, in a transaction unless the script is concurrent. Locked blocks until it has
	// the lock or ctx ends.
	Locked(ctx context.Context, f func(row store.Meta, apply func(Script) error) error) error
}

// Up applies the missing scripts, and returns those that it applied itself, also with an
// error. It does not change a database that newer builds left this one behind on; the
// error matches store.ErrSchema.
func Up(ctx context.Context, h History, scripts []Script) ([]store.Migration, error) {
	if Check(ctx, h, scripts) == nil {
		return nil, nil // without the lock and rights that only a change needs
	}
	var done []store.Migration
	for {
		m, err := next(ctx, h, scripts)
		if err != nil {
			return done, fmt.Errorf("migrate: %w", err)
		}
		if m == nil {
			return done, nil
		}
		done = append(done, *m)
	}
}

// next applies the first missing script, and returns nil if there is none.
func next(ctx context.Context, h History, scripts []Script) (*store.Migration, error) {
	var m *store.Migration
	err := h.Locked(ctx, func(row store.Meta, apply func(Script) error) error {
		if row.Version >= len(scripts) || refused(row, scripts) {
			return Fits(row, scripts, h.Schema())
		}
		script := scripts[row.Version]
		if err := apply(script); err != nil {
			return fmt.Errorf("%04d_%s: %w", script.Version, script.Name, err)
		}
		m = &store.Migration{Version: script.Version, Name: script.Name, SQL: script.SQL, Applied: true}
		return nil
	})
	return m, err
}

// List returns the scripts, and which are applied; with an error that matches store.ErrSchema if
// only newer builds can read the database, or it is of another pre-release.
func List(ctx context.Context, h History, scripts []Script) ([]store.Migration, error) {
	row, err := h.Meta(ctx)
	if err != nil {
		return nil, fmt.Errorf("list migrations: %w", err)
	}
	list := make([]store.Migration, len(scripts))
	for i, s := range scripts {
		list[i] = store.Migration{Version: s.Version, Name: s.Name, SQL: s.SQL, Applied: s.Version <= row.Version}
	}
	if refused(row, scripts) {
		return list, Fits(row, scripts, h.Schema())
	}
	return list, nil
}
