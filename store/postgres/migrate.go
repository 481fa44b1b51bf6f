package postgres

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"

	"github.com/headrace/headrace/internal/migrate"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

const (
	// lockPoll is the time between two tries to become the process that migrates.
	lockPoll = 100 * time.Millisecond
	// A migration that did not get its locks in time is tried again after a pause, so that
	// the statements behind it run meanwhile.
	lockPause = 2 * time.Second
	lockTries = 30
)

// Migrate implements store.Migrator. The role needs CREATE on the schema, and on the
// database if the schema does not exist.
//
// Indexes on tables in use are built concurrently, outside of a transaction, and block
// nothing. Any other migration waits at most two seconds for a lock, and tries again for
// about two minutes. The connection needs a session of its own: pgbouncer in transaction
// mode does not do.
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

// book is a schema of the store's database. It implements migrate.Book.
type book struct {
	meta   *migrate.Meta
	s      *Store
	schema string
	sql    struct{ TryLock, LockTimeout, NoTimeouts, HasSchema, CreateSchema string }
}

func newBook(s *Store, schema string) *book {
	b := &book{meta: migrate.NewMeta(s.text.Queries, schema), s: s, schema: schema}
	s.text.Queries.Fill("migrations", &b.sql)
	return b
}

// Schema implements migrate.Book.
func (b *book) Schema() string {
	if b.schema == defaultSchema {
		return ""
	}
	return b.schema
}

// Meta implements migrate.Book.
func (b *book) Meta(ctx context.Context) (store.Meta, error) { return b.meta.Read(ctx, b.s.db) }

// Locked implements migrate.Book.
func (b *book) Locked(ctx context.Context, f func(store.Meta, func(migrate.Script) error) error) error {
	conn, err := b.s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { // the lock and the settings end with the connection
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	for locked := false; !locked; {
		if err := conn.QueryRowContext(ctx, b.sql.TryLock, shard.Lock("migrate", b.schema)).Scan(&locked); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}
		if !locked && !sleep.For(ctx, lockPoll) {
			return fmt.Errorf("wait for another process that migrates: %w", context.Cause(ctx))
		}
	}
	row, err := b.meta.Read(ctx, conn)
	if err != nil {
		return err
	}
	return f(row, func(m migrate.Script) error { return b.apply(ctx, conn, m) })
}

// apply runs a script on the connection that has the lock.
func (b *book) apply(ctx context.Context, conn *sql.Conn, m migrate.Script) error {
	if m.Concurrent {
		if _, err := conn.ExecContext(ctx, b.sql.NoTimeouts); err != nil {
			return fmt.Errorf("remove the timeouts: %w", err)
		}
		return b.meta.Run(ctx, conn, m, b.s.begin.Script...)
	}
	for try := 1; ; try++ {
		err := b.transact(ctx, conn, m)
		if !txn.Classify(err).Conflict() || try == lockTries || !sleep.For(ctx, lockPause) {
			return err
		}
	}
}

// transact runs a script in a transaction, after making the schema if there is none.
func (b *book) transact(ctx context.Context, conn *sql.Conn, m migrate.Script) error {
	t, err := conn.BeginTx(ctx, &b.s.begin.SQL)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = t.Rollback() }()
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
	if err := b.meta.Run(ctx, t, m, b.s.begin.Script...); err != nil {
		return err
	}
	return t.Commit()
}
