package postgres

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Migrate implements store.Migrator. The role needs CREATE on the schema, and on the
// database if the schema does not exist.
func (s *Store) Migrate(ctx context.Context) ([]store.Migration, error) {
	done, err := migrate.Up(ctx, s.book, s.text.Scripts)
	// Plans of changed tables would fail once on each connection.
	s.statements.Reset()
	return done, err
}

// Migrations implements store.Migrator.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	return migrate.List(ctx, s.book, s.text.Scripts)
}

// book is the history of a schema. It implements migrate.Book.
type book struct {
	*migrate.History
	s      *Store
	schema string
	sql    struct{ Lock, LockTimeout, HasSchema, CreateSchema string }
}

func newBook(s *Store, schema string) *book {
	b := &book{History: migrate.NewHistory(s.db, s.text.Queries, schema), s: s, schema: schema}
	s.text.Queries.Fill("migrations", &b.sql)
	return b
}

func (b *book) Schema() string {
	if b.schema == defaultSchema {
		return ""
	}
	return b.schema
}

func (b *book) Locked(ctx context.Context, f func(migrate.Session) error) error {
	return store.Transact(ctx, b.s, func(t *txn.Txn) error {
		if _, err := t.ExecContext(ctx, b.sql.Lock, shard.Lock("migrate", b.schema)); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}
		if _, err := t.ExecContext(ctx, b.sql.LockTimeout); err != nil {
			return fmt.Errorf("set the lock timeout: %w", err)
		}
		var there bool
		if err := t.QueryRowContext(ctx, b.sql.HasSchema, b.schema).Scan(&there); err != nil {
			return fmt.Errorf("look for the schema: %w", err)
		}
		if !there {
			if _, err := t.ExecContext(ctx, b.sql.CreateSchema); err != nil {
				return fmt.Errorf("create the schema: %w", err)
			}
		}
		return b.On(ctx, t, f)
	})
}
