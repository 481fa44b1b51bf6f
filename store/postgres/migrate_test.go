package postgres_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/storetest"
)

const indexed = `-- An index on a table in use.
-- concurrent
DROP INDEX CONCURRENTLY IF EXISTS {{schema}}.headrace_inbox_test;
CREATE INDEX CONCURRENTLY headrace_inbox_test ON {{schema}}.headrace_inbox (fingerprint);
UPDATE {{schema}}.headrace_meta SET version = version + 1;
`

// A newer release migrates while this one runs.
//
//evidence:rolling
func TestRolling(t *testing.T) {
	for _, driver := range []string{"open", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b := setup(t, driver, "", postgres.Options{})
			storetest.Rolling(t, storetest.Release{
				Open: func() (store.Store, error) {
					if driver == "open" {
						return pgOpened(t)(postgres.Open(t.Context(), b.dsn, postgres.Options{Schema: b.schema}))
					}
					return pgOpened(t)(postgres.New(t.Context(), pgtest.OpenDB(t, driver, b.dsn), postgres.Options{Schema: b.schema}))
				},
				Migrate: b.newer, Index: indexed,
			})
		})
	}
}

// pgOpened closes a store at the end of the test.
func pgOpened(t *testing.T) func(*postgres.Store, error) (store.Store, error) {
	return func(s *postgres.Store, err error) (store.Store, error) {
		if err != nil {
			return nil, err
		}
		t.Cleanup(func() { shut(t, s) })
		return s, nil
	}
}

// newer migrates as a newer build with further files.
func (b *bundle) newer(files map[string]string) error {
	if err := b.AddMigrations(files); err != nil {
		return err
	}
	_, err := b.Migrate(b.Context())
	return err
}

// waiting waits until a statement on the schema waits for a lock, as the query says.
func (b *bundle) waiting(query string) {
	b.Helper()
	for deadline := time.Now().Add(time.Minute); ; {
		var n int
		if err := b.db.QueryRowContext(b.Context(), query, "%"+b.schema+"%").Scan(&n); err != nil {
			b.Fatal(err)
		}
		if n > 0 {
			return
		}
		if time.Now().After(deadline) {
			b.Fatal("it does not wait")
		}
		time.Sleep(5 * time.Millisecond)
	}
}

// hold begins a transaction that uses the inbox.
func (b *bundle) hold(query string) *sql.Tx {
	b.Helper()
	tx, err := b.db.BeginTx(b.Context(), nil)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.Exec(query); err != nil {
		b.Fatal(err)
	}
	return tx
}

// A migration that cannot have its lock gives way: a statement behind it runs before the
// transaction that it waits for has ended. It is applied when it can be.
//
//evidence:migrate
func TestMigrationGivesWay(t *testing.T) {
	t.Parallel()
	b := setup(t, "open", "", postgres.Options{})
	b.exec("INSERT INTO " + b.schema + ".headrace_inbox (scope, key, fingerprint) VALUES ('s', 'k', 'f')")
	holder := b.hold("SELECT 1 FROM " + b.schema + ".headrace_inbox")
	migrated := make(chan error, 1)
	go func() {
		migrated <- b.newer(map[string]string{"0002_column.sql": "ALTER TABLE {{schema}}.headrace_inbox ADD COLUMN added integer;\nUPDATE {{schema}}.headrace_meta SET version = 2;"})
	}()
	b.waiting("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE 'ALTER TABLE%' AND query LIKE $1")
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
	defer cancel()
	if _, err := b.db.ExecContext(ctx, "UPDATE "+b.schema+".headrace_inbox SET stale = true"); err != nil {
		t.Errorf("a statement behind the migration: %v", err)
	}
	if err := holder.Rollback(); err != nil {
		t.Fatal(err)
	}
	if err := <-migrated; err != nil {
		t.Error(err)
	}
}

// An index is built while a transaction is open, nothing waits for the build, and two
// processes that migrate do not deadlock. What an earlier try left behind is built again.
//
//evidence:migrate
func TestIndexIsBuiltConcurrently(t *testing.T) {
	for _, driver := range []string{"open", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b := setup(t, driver, "", postgres.Options{})
			inbox := b.schema + ".headrace_inbox"
			b.exec("INSERT INTO " + inbox + " (scope, key, fingerprint) VALUES ('s', 'a', 'f'), ('s', 'b', 'f')")
			if _, err := b.db.Exec("CREATE UNIQUE INDEX CONCURRENTLY headrace_inbox_test ON " + inbox + " (fingerprint)"); err == nil {
				t.Fatal("the index of the earlier try is valid")
			}
			holder := b.hold("UPDATE " + inbox + " SET stale = true WHERE key = 'a'")
			migrated := make(chan error, 2)
			other := &bundle{T: t, Store: open(t, b.dsn, postgres.Options{Schema: b.schema}), db: b.db, schema: b.schema}
			for _, one := range []*bundle{b, other} {
				go func() { migrated <- one.newer(map[string]string{"0002_index.sql": indexed}) }()
			}
			b.waiting("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%INDEX CONCURRENTLY%' AND query LIKE $1")
			ctx, cancel := context.WithTimeout(t.Context(), 15*time.Second)
			defer cancel()
			if _, err := b.db.ExecContext(ctx, "UPDATE "+inbox+" SET stale = true WHERE key = 'b'"); err != nil {
				t.Errorf("a statement beside the build: %v", err)
			}
			if err := holder.Commit(); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				if err := <-migrated; err != nil {
					t.Error(err)
				}
			}
			valid := one[bool](b, b.db, "SELECT indisvalid AND NOT indisunique FROM pg_index WHERE indexrelid = ($1 || '.headrace_inbox_test')::regclass", b.schema)
			if version := one[int](b, b.db, "SELECT version FROM "+b.schema+".headrace_meta"); !valid || version != 2 {
				t.Errorf("valid: %t; version %d", valid, version)
			}
		})
	}
}
