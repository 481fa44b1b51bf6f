package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
)

// Migrate implements store.Migrator. The role needs CREATE on the schema, and on
// the database where the schema is not there yet.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) {
	done, err := migrate.Up(ctx, s.book, s.scripts)
	// Plans of tables that have changed would fail once on each connection.
	s.statements.Reset()
	return done, err
}

// Migrations implements store.Migrator.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	return migrate.List(ctx, s.book, s.scripts)
}

// book is the table headrace_migrations.
type book struct {
	db     *sql.DB
	schema string

	lock, lockTimeout       string
	hasSchema, createSchema string
	hasTable, createTable   string
	list, record            string
}

func newBook(db *sql.DB, queries map[string]string, schema string) *book {
	return &book{
		db: db, schema: schema,
		lock:         sqlfile.Get(queries, "migrations_lock"),
		lockTimeout:  sqlfile.Get(queries, "migrations_lock_timeout"),
		hasSchema:    sqlfile.Get(queries, "migrations_has_schema"),
		createSchema: sqlfile.Get(queries, "migrations_create_schema"),
		hasTable:     sqlfile.Get(queries, "migrations_has_table"),
		createTable:  sqlfile.Get(queries, "migrations_create_table"),
		list:         sqlfile.Get(queries, "migrations_list"),
		record:       sqlfile.Get(queries, "migrations_record"),
	}
}

// querier is *sql.DB or *sql.Tx.
type querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Schema implements migrate.Book.
func (b *book) Schema() string {
	if b.schema == defaultSchema {
		return ""
	}
	return b.schema
}

// Applied implements migrate.Book.
func (b *book) Applied(ctx context.Context) ([]migrate.Applied, error) { return b.applied(ctx, b.db) }

func (b *book) applied(ctx context.Context, q querier) ([]migrate.Applied, error) {
	var there bool
	if err := q.QueryRowContext(ctx, b.hasTable, b.schema).Scan(&there); err != nil {
		return nil, fmt.Errorf("look for the tables: %w", err)
	}
	if !there {
		return nil, nil
	}
	return collect(ctx, q, b.list, nil, func(a *migrate.Applied) []any {
		return []any{&a.Version, &a.Name, &a.Checksum, &a.At}
	})
}

// Locked implements migrate.Book.
func (b *book) Locked(ctx context.Context, f func(migrate.Session) error) error {
	tx, err := b.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	if _, err := tx.ExecContext(ctx, b.lock, shard.Lock("migrate", b.schema)); err != nil {
		return fmt.Errorf("lock the schema: %w", err)
	}
	if _, err := tx.ExecContext(ctx, b.lockTimeout); err != nil {
		return fmt.Errorf("set the lock timeout: %w", err)
	}
	if err := b.ensure(ctx, tx); err != nil {
		return err
	}
	if err := f(&session{b, tx}); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("commit: %w", err)
	}
	return nil
}

// ensure makes the schema and the table of records where they are missing.
func (b *book) ensure(ctx context.Context, tx *sql.Tx) error {
	for _, step := range []struct{ has, create, what string }{
		{b.hasSchema, b.createSchema, "create the schema"},
		{b.hasTable, b.createTable, "create the table of migrations"},
	} {
		var there bool
		if err := tx.QueryRowContext(ctx, step.has, b.schema).Scan(&there); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
		if there {
			continue
		}
		if _, err := tx.ExecContext(ctx, step.create); err != nil {
			return fmt.Errorf("%s: %w", step.what, err)
		}
	}
	return nil
}

// session is a book while its lock is held.
type session struct {
	*book
	tx *sql.Tx
}

// Applied implements migrate.Session.
func (s *session) Applied(ctx context.Context) ([]migrate.Applied, error) {
	return s.applied(ctx, s.tx)
}

// Apply implements migrate.Session.
func (s *session) Apply(ctx context.Context, m migrate.Script) (time.Time, error) {
	var at time.Time
	if _, err := s.tx.ExecContext(ctx, m.SQL); err != nil {
		return at, fmt.Errorf("run: %w", err)
	}
	if err := s.tx.QueryRowContext(ctx, s.record, m.Version, m.Name, m.Checksum).Scan(&at); err != nil {
		return at, fmt.Errorf("record: %w", err)
	}
	return at, nil
}
