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
	done, err := migrate.Up(ctx, s.history, s.text.Scripts)
	// Plans of changed tables would fail once on each connection.
	s.statements.Reset()
	return done, err
}

// Migrations implements store.Migrator.
func (s *Store) Migrations(ctx context.Context) ([]store.Migration, error) {
	return migrate.List(ctx, s.history, s.text.Scripts)
}

// history is a schema of the store's database. It implements migrate.History.
type history struct {
	meta   *migrate.Meta
	s      *Store
	schema string
	sql    struct{ TryLock, LockTimeout, NoTimeouts, HasSchema, CreateSchema string }
}

func newHistory(s *Store, schema string) *history {
	h := &history{meta: migrate.NewMeta(s.text.Queries, schema), s: s, schema: schema}
	s.text.Queries.Fill("migrations", &h.sql)
	return h
}

// Schema implements migrate.History.
func (h *history) Schema() string {
	if h.schema == defaultSchema {
		return ""
	}
	return h.schema
}

// Meta implements migrate.History.
func (h *history) Meta(ctx context.Context) (store.Meta, error) { return h.meta.Read(ctx, h.s.db) }

// Locked implements migrate.History.
func (h *history) Locked(ctx context.Context, f func(store.Meta, func(migrate.Script) error) error) error {
	conn, err := h.s.db.Conn(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer func() { // the lock and the settings end with the connection
		_ = conn.Raw(func(any) error { return driver.ErrBadConn })
		_ = conn.Close()
	}()
	for locked := false; !locked; {
		if err := conn.QueryRowContext(ctx, h.sql.TryLock, shard.Lock("migrate", h.schema)).Scan(&locked); err != nil {
			return fmt.Errorf("lock the schema: %w", err)
		}
		if !locked && !sleep.For(ctx, lockPoll) {
			return fmt.Errorf("wait for another process that migrates: %w", context.Cause(ctx))
		}
	}
	row, err := h.meta.Read(ctx, conn)
	if err != nil {
		return err
	}
	return f(row, func(m migrate.Script) error { return h.apply(ctx, conn, m) })
}

// apply runs a script on the connection that has the lock.
func (h *history) apply(ctx context.Context, conn *sql.Conn, m migrate.Script) error {
	if m.Concurrent {
		if _, err := conn.ExecContext(ctx, h.sql.NoTimeouts); err != nil {
			return fmt.Errorf("remove the timeouts: %w", err)
		}
		return h.meta.Run(ctx, conn, m, h.s.begin.Script...)
	}
	for try := 1; ; try++ {
		err := h.transact(ctx, conn, m)
		if !txn.Classify(err).Conflict() || try == lockTries || !sleep.For(ctx, lockPause) {
			return err
		}
	}
}

// transact runs a script in a transaction, after making the schema if there is none.
func (h *history) transact(ctx context.Context, conn *sql.Conn, m migrate.Script) error {
	t, err := conn.BeginTx(ctx, &h.s.begin.SQL)
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	defer func() { _ = t.Rollback() }()
	if _, err := t.ExecContext(ctx, h.sql.LockTimeout); err != nil {
		return fmt.Errorf("set the lock timeout: %w", err)
	}
	var there bool
	if err := t.QueryRowContext(ctx, h.sql.HasSchema, h.schema).Scan(&there); err != nil {
		return fmt.Errorf("look for the schema: %w", err)
	}
	if !there {
		if _, err := t.ExecContext(ctx, h.sql.CreateSchema); err != nil {
			return fmt.Errorf("create the schema: %w", err)
		}
	}
	if err := h.meta.Run(ctx, t, m, h.s.begin.Script...); err != nil {
		return err
	}
	return t.Commit()
}
