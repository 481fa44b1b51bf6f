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
	return migrate.Up(ctx, s.book, s.text.Scripts)
}

// Migrations implements store.Migrator.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	return migrate.List(ctx, s.book, s.text.Scripts)
}

// book is the schema of a file. It implements migrate.Book.
type book struct {
	meta *migrate.Meta
	db   *sql.DB
	s    *Store // for writing, or nil
}

// Schema implements migrate.Book: a file has none.
func (book) Schema() string { return "" }

// Meta implements migrate.Book.
func (b book) Meta(ctx context.Context) (store.Meta, error) { return b.meta.Read(ctx, b.db) }

// Locked implements migrate.Book. The write lock is the lock.
func (b book) Locked(ctx context.Context, f func(store.Meta, func(migrate.Script) error) error) error {
	return store.Transact(ctx, b.s, func(t *txn.Txn) error {
		row, err := b.meta.Read(ctx, t)
		if err != nil {
			return err
		}
		return f(row, func(m migrate.Script) error { return b.meta.Run(ctx, t, m) })
	})
}
