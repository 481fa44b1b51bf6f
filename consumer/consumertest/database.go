package consumertest

import (
	"context"
	"crypto/rand"
	"database/sql"
	"embed"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"strings"
	"testing"

	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

//go:embed queries/*.sql
var files embed.FS

// Database says where a test runs. Make one with SQLite, Postgres or PostgresDB.
type Database struct{ make func(t testing.TB) *place }

// SQLite is a new file in a temporary directory.
func SQLite() Database { return Database{makeSQLite} }

// Postgres is a new schema in the database of dsn, a URL or key=value pairs. The kit
// creates it for the test and drops it with all tables afterwards. Names without a schema
// mean this schema on every connection of the kit. The role needs the right to create
// schemas.
func Postgres(dsn string) Database {
	return Database{func(t testing.TB) *place { return makePostgres(t, dsn) }}
}

// PostgresDB is Postgres on the caller's db (lib/pq, or the stdlib package of pgx); the
// caller closes it after the test. Names without a schema mean the test's schema in
// handlers' transactions, Kit.Exec and Kit.Count. On a connection that you take from db
// yourself they do not: use Kit.Schema there.
func PostgresDB(db *sql.DB) Database {
	return Database{func(t testing.TB) *place { return makePostgresDB(t, db) }}
}

// openStore is what the kit needs of a store.
type openStore interface {
	store.Store
	store.Checker
	io.Closer
}

// place is a database while a test runs.
type place struct {
	db *sql.DB
	// schema is where the tables are, "" on SQLite.
	schema string
	// open opens a new store; each process has its own.
	open func(ctx context.Context, migrate bool) (openStore, error)
	// path is the statement that puts schema first in a transaction's search path; "" if
	// every connection does so already.
	path string
	// kit is the kit's own store; no process uses it.
	kit openStore
}

func makeSQLite(t testing.TB) *place {
	t.Helper()
	file := filepath.Join(t.TempDir(), "test.db")
	p := &place{open: func(ctx context.Context, migrate bool) (openStore, error) {
		return sqlite.Open(ctx, file, sqlite.Options{Migrate: migrate})
	}}
	p.ready(t)
	p.db = p.kit.(*sqlite.Store).DB()
	return p
}

// conns bounds the connections of each process: all tests share those of the server.
const conns = 8

func makePostgres(t testing.TB, dsn string) *place {
	t.Helper()
	schema := newSchema()
	own, err := withSearchPath(dsn, schema)
	if err != nil {
		t.Fatalf("consumertest.Postgres: %v", err)
	}
	// Unchecked: the schema does not exist yet.
	admin, err := postgres.Open(t.Context(), dsn, postgres.Options{Unchecked: true, MaxConns: 1})
	if err != nil {
		t.Fatalf("consumertest.Postgres: %v", err)
	}
	t.Cleanup(func() { _ = admin.Close() })
	ownSchema(t, admin.DB(), schema)
	p := &place{schema: schema, open: func(ctx context.Context, migrate bool) (openStore, error) {
		return postgres.Open(ctx, own, postgres.Options{Schema: schema, Migrate: migrate, MaxConns: conns})
	}}
	p.ready(t)
	p.db = p.kit.(*postgres.Store).DB()
	return p
}

func makePostgresDB(t testing.TB, db *sql.DB) *place {
	t.Helper()
	if db == nil {
		t.Fatalf("consumertest.PostgresDB: the *sql.DB is nil")
	}
	schema := newSchema()
	ownSchema(t, db, schema)
	p := &place{db: db, schema: schema, path: statement("search_path", schema), open: func(ctx context.Context, migrate bool) (openStore, error) {
		return postgres.New(ctx, db, postgres.Options{Schema: schema, Migrate: migrate})
	}}
	p.ready(t)
	return p
}

// ready creates the tables and opens the kit's own store.
func (p *place) ready(t testing.TB) {
	t.Helper()
	st, err := p.open(t.Context(), true)
	if err != nil {
		t.Fatalf("consumertest: %v", err)
	}
	p.kit = st
	t.Cleanup(func() {
		if err := st.Close(); err != nil {
			t.Errorf("consumertest: close the database: %v", err)
		}
	})
}

// ownSchema creates schema and drops it when the test ends.
func ownSchema(t testing.TB, db *sql.DB, schema string) {
	t.Helper()
	if _, err := db.ExecContext(t.Context(), statement("create_schema", schema)); err != nil {
		t.Fatalf("consumertest: make a schema for the test: %v", err)
	}
	t.Cleanup(func() {
		if _, err := db.ExecContext(context.Background(), statement("drop_schema", schema)); err != nil {
			t.Errorf("consumertest: drop the schema of the test: %v", err)
		}
	})
}

// newSchema returns a new name that needs no quotes.
func newSchema() string { return "headrace_test_" + strings.ToLower(rand.Text()) }

// statement returns a query of the embedded files, for schema.
func statement(name, schema string) string {
	all, err := sqlfile.Load(files, "queries", `"`+schema+`"`)
	if err != nil {
		panic(err) // they are part of the program
	}
	return sqlfile.Get(all, name)
}

// withSearchPath returns dsn with schema first in the search path. Its error shows
// nothing of dsn, which may hold a password.
func withSearchPath(dsn, schema string) (string, error) {
	if !strings.HasPrefix(dsn, "postgres://") && !strings.HasPrefix(dsn, "postgresql://") {
		return dsn + " search_path=" + schema + ",public", nil
	}
	u, err := url.Parse(dsn)
	if err != nil {
		return "", fmt.Errorf("the DSN cannot be read as a URL")
	}
	q := u.Query()
	q.Set("search_path", schema+",public")
	u.RawQuery = q.Encode()
	return u.String(), nil
}
