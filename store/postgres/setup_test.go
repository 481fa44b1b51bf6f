package postgres_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// bundle is a fresh store and what a test does with it. Its methods fail the test.
type bundle struct {
	*testing.T
	*postgres.Store
	db     *sql.DB // the test's own
	dsn    string
	schema string
}

// drivers runs f with a store on each driver: our own lib/pq, the caller's pool of pgx, and
// the caller's *sql.DB of pgx and of lib/pq.
func drivers(t *testing.T, f func(b *bundle)) {
	t.Parallel()
	for _, name := range []string{"open", "pool", "pgx", "postgres"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f(setup(t, name, "", postgres.Options{}))
		})
	}
}

// setup makes a store with that driver. params are appended to its DSN.
func setup(t *testing.T, driver, params string, o postgres.Options) *bundle {
	t.Helper()
	dsn, schema := pgstore.New(t)
	o.Schema, o.Migrate = schema, true
	b := &bundle{T: t, dsn: dsn, schema: schema, db: pgtest.OpenDB(t, "postgres", dsn)}
	b.Store = connect(t, driver, dsn+params, o)
	return b
}

func (b *bundle) begin() *txn.Txn {
	b.Helper()
	t, err := b.Begin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(t.Rollback)
	return t
}

const scope = "billing/orders.paid"

func (b *bundle) claim(t *txn.Txn, r inbox.ClaimRequest, keys ...string) []inbox.Claimed {
	b.Helper()
	for _, key := range keys {
		r.Claims = append(r.Claims, inbox.Claim{ID: inbox.ID{Scope: scope, Key: key}, Fingerprint: "print"})
	}
	claimed, err := b.Inbox().Claim(b.Context(), t, r)
	if err != nil {
		b.Fatal(err)
	}
	return claimed
}

// one runs a query for one value.
func one[T any](b *bundle, q interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, query string, args ...any) (v T) {
	b.Helper()
	if err := q.QueryRowContext(b.Context(), query, args...).Scan(&v); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
	return v
}

func (b *bundle) exec(query string, args ...any) {
	b.Helper()
	if _, err := b.db.ExecContext(b.Context(), query, args...); err != nil {
		b.Fatalf("%s: %v", query, err)
	}
}

// within fails the test if f takes longer than limit.
func within(t *testing.T, limit time.Duration, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(limit):
		t.Fatalf("%s takes longer than %s", what, limit)
	}
}

// ownDatabase makes a store in a database of its own: VACUUM there waits for no transaction of another test.
func ownDatabase(t *testing.T) *bundle {
	t.Helper()
	dsn := pgtest.NewDatabase(t)
	b := &bundle{T: t, dsn: dsn, schema: "public", db: pgtest.OpenDB(t, "postgres", dsn)}
	b.Store = connect(t, "open", dsn, postgres.Options{Migrate: true})
	return b
}

// visible has statistics of a table collected, and every page of it marked as seen by all, which an index-only
// scan relies on. Transactions that are older than the rows keep VACUUM from marking them, those of autovacuum too: it is
// repeated until they have ended.
func (b *bundle) visible(table string) {
	b.Helper()
	for end := time.Now().Add(2 * time.Minute); ; {
		b.exec("VACUUM ANALYZE " + table)
		if one[bool](b, b.db, "SELECT relallvisible >= relpages FROM pg_class WHERE oid = $1::regclass", table) {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%s: a transaction that is older than its rows does not end", table)
		}
	}
}
