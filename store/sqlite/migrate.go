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
func (b book) Locked(ctx context.Context, f func(migrate.Session) error) error {
	return store.Transact(ctx, b.s, func(t *txn.Txn) error { return f(session{b.meta, t}) })
}

// session is a transaction that migrates. It implements migrate.Session.
type session struct {
	meta *migrate.Meta
	t    *txn.Txn
}

// Meta implements migrate.Session.
func (s session) Meta(ctx context.Context) (store.Meta, error) { return s.meta.Read(ctx, s.t) }

// Apply implements migrate.Session.
func (s session) Apply(ctx context.Context, m migrate.Script) error { return s.meta.Run(ctx, s.t, m) }
