package sqlite

import (
	"context"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Migrate implements store.Migrator. Migrations run one at a time over all processes,
// each in a transaction that blocks every writer.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) {
	defer s.statements.Reset()
	return migrate.Up(ctx, s.book, s.text.Scripts)
}

// Migrations implements store.Migrator.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	return migrate.List(ctx, s.book, s.text.Scripts)
}

// book is the history of a file. It implements migrate.Book.
type book struct {
	*migrate.History
	s *Store // for writing, or nil
}

// Schema implements migrate.Book: a file has none.
func (book) Schema() string { return "" }

// Locked implements migrate.Book. The write lock is the lock.
func (b book) Locked(ctx context.Context, f func(migrate.Session) error) error {
	return store.Transact(ctx, b.s, func(t *txn.Txn) error { return b.On(ctx, t, f) })
}
