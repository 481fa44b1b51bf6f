package sqlite

import (
	"context"
	"database/sql"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Migrate implements store.Migrator. Migrations run one at a time over all processes,
// each in a transaction that blocks every writer, also while it builds an index.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) {
	defer s.statements.Reset()
	return migrate.Up(ctx, s.history, s.text.Scripts)
}

// Migrations implements store.Migrator.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	return migrate.List(ctx, s.history, s.text.Scripts)
}

// history is the schema of a file. It implements migrate.History.
type history struct {
	meta *migrate.Meta
	db   *sql.DB
	s    *Store // for writing, or nil
}

// Schema implements migrate.History: a file has none.
func (history) Schema() string { return "" }

// Meta implements migrate.History.
func (h history) Meta(ctx context.Context) (store.Meta, error) { return h.meta.Read(ctx, h.db) }

// Locked implements migrate.History. The write lock is the lock.
func (h history) Locked(ctx context.Context, f func(store.Meta, func(migrate.Script) error) error) error {
	return store.Transact(ctx, h.s, func(t *txn.Txn) error {
		row, err := h.meta.Read(ctx, t)
		if err != nil {
			return err
		}
		return f(row, func(m migrate.Script) error { return h.meta.Run(ctx, t, m) })
	})
}
