package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Migrate implements store.Migrator. Migrations run one at a time over all
// processes, each in a transaction that keeps every writer waiting.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) {
	defer s.statements.Reset()
	return migrate.Up(ctx, s.book, s.book.scripts)
}

// Migrations implements store.Migrator.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	return migrate.List(ctx, s.book, s.book.scripts)
}

// book is the record of what was applied to the file.
type book struct {
	db      *sql.DB // for reading
	s       *Store  // for writing, or nil
	scripts []migrate.Script

	hasTable, createTable, list, record string
}

// newBook returns the book that is read on db. Without s it can only be read.
func newBook(db *sql.DB, s *Store) (*book, error) {
	scripts, err := migrate.Parse(files, "migrations", schema)
	if err != nil {
		return nil, err
	}
	q, err := loadQueries()
	if err != nil {
		return nil, err
	}
	return &book{db: db, s: s, scripts: scripts,
		hasTable:    q.get("migrations_has_table"),
		createTable: q.get("migrations_create_table"),
		list:        q.get("migrations_list"),
		record:      q.get("migrations_record"),
	}, nil
}

// Schema implements migrate.Book: a file has none of its own.
func (b *book) Schema() string { return "" }

// Applied implements migrate.Book.
func (b *book) Applied(ctx context.Context) ([]migrate.Applied, error) {
	var there bool
	if err := b.db.QueryRowContext(ctx, b.hasTable).Scan(&there); err != nil {
		return nil, fmt.Errorf("look for the record of migrations: %w", err)
	}
	if !there {
		return nil, nil
	}
	return b.applied(ctx, b.db)
}

func (b *book) applied(ctx context.Context, from querier) ([]migrate.Applied, error) {
	return collect(ctx, from, b.list, nil, func(row scanner) (migrate.Applied, error) {
		var a migrate.Applied
		err := row.Scan(&a.Version, &a.Name, &a.Checksum, (*micros)(&a.At))
		return a, err
	})
}

// Locked implements migrate.Book. The write lock is the lock.
func (b *book) Locked(ctx context.Context, f func(migrate.Session) error) error {
	t, err := b.s.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if _, err := t.ExecContext(ctx, b.createTable); err != nil {
		return fmt.Errorf("create the record of migrations: %w", err)
	}
	if err := f(session{b, t}); err != nil {
		return err
	}
	return b.s.Commit(ctx, t, nil)
}

// session is the book while the lock is held.
type session struct {
	book *book
	t    *txn.Txn
}

// Applied implements migrate.Session.
func (s session) Applied(ctx context.Context) ([]migrate.Applied, error) {
	return s.book.applied(ctx, s.t)
}

// Apply implements migrate.Session.
func (s session) Apply(ctx context.Context, m migrate.Script) (time.Time, error) {
	if _, err := s.t.ExecContext(ctx, m.SQL); err != nil {
		return time.Time{}, err
	}
	var at time.Time
	err := s.t.QueryRowContext(ctx, s.book.record, m.Version, m.Name, m.Checksum).Scan((*micros)(&at))
	return at, err
}
