package pgtest

import (
	"context"
	"crypto/rand"
	"database/sql"
	_ "embed" // the statements
	"net/url"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	_ "github.com/jackc/pgx/v5/stdlib" // driver "pgx"
	"github.com/lib/pq"                // driver "postgres"
)

// Variable is the environment variable that names the server.
const Variable = "HEADRACE_TEST_POSTGRES"

// MaxOpenConns bounds the connections of a handle that [OpenDB] or [Open] returns. A test that needs more
// calls SetMaxOpenConns; the server that `make test` starts has 400 for all tests together.
const MaxOpenConns = 32

// idleConns is how many connections a handle keeps. database/sql keeps two: of many workers the others would connect
// for each transaction.
const idleConns = 10

// statementTimeout bounds each statement of this package. A drop that takes longer waits for a transaction that
// the test has left open.
const statementTimeout = 2 * time.Minute

var (
	//go:embed queries/create_schema.sql
	createSchema string
	//go:embed queries/drop_schema.sql
	dropSchema string
	//go:embed queries/create_database.sql
	createDatabase string
	//go:embed queries/drop_database.sql
	dropDatabase string
	//go:embed queries/shift_clock.sql
	shiftClock string
)

// DB is a handle on a schema that belongs to one test.
type DB struct {
	*sql.DB
	// DSN is what the handle was opened with. Its search_path is Schema, so a name without a schema
	// means the test's own.
	DSN string
	// Schema is the name of the schema. It needs no quotes.
	Schema string
}

// Open makes a schema and opens a handle on it with lib/pq. Both are gone when the test ends.
func Open(tb testing.TB) *DB {
	tb.Helper()
	dsn, schema := New(tb)
	return &DB{DB: OpenDB(tb, "postgres", dsn), DSN: dsn, Schema: schema}
}

// New makes a schema in the server's database and returns its name, with a DSN whose search_path is that
// schema. The schema is dropped, with all that is in it, when the test ends.
func New(tb testing.TB) (dsn, schema string) {
	tb.Helper()
	server := serverURL(tb)
	schema = uniqueName()
	run(tb, server.String(), createSchema, schema)
	tb.Cleanup(func() { run(tb, server.String(), dropSchema, schema) })
	return within(server, schema), schema
}

// within is the DSN of a schema. Its sessions have the schema's name.
func within(server *url.URL, schema string) string {
	query := server.Query()
	query.Set("search_path", schema)
	query.Set("application_name", schema)
	own := *server
	own.RawQuery = query.Encode()
	return own.String()
}

// NewDatabase makes a database and returns its DSN. The database is dropped when the test ends, even with
// sessions open in it.
func NewDatabase(tb testing.TB) string {
	tb.Helper()
	server := serverURL(tb)
	name := uniqueName()
	run(tb, server.String(), createDatabase, name)
	tb.Cleanup(func() { run(tb, server.String(), dropDatabase, name) })
	own := *server
	own.Path = "/" + name
	return own.String()
}

// OpenDB opens a handle with driver "postgres" (lib/pq) or "pgx" (jackc/pgx/v5/stdlib) and checks that the
// server answers. The handle is closed when the test ends. Call it after [New] or [NewDatabase], with the
// same tb or a subtest's: what was made first is removed last.
func OpenDB(tb testing.TB, driver, dsn string) *sql.DB {
	tb.Helper()
	if driver != "postgres" && driver != "pgx" {
		tb.Fatalf("pgtest: driver %q; it may be postgres or pgx", driver)
	}
	db, err := sql.Open(driver, dsn)
	if err != nil {
		tb.Fatalf("pgtest: open: %v", err)
	}
	tb.Cleanup(func() {
		// A test may have had the server end idle connections, whose goodbye then fails.
		if err := db.Close(); err != nil {
			tb.Logf("pgtest: close: %v", err)
		}
	})
	db.SetMaxOpenConns(MaxOpenConns)
	db.SetMaxIdleConns(idleConns)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	if err := db.PingContext(ctx); err != nil {
		tb.Fatalf("pgtest: the server does not answer: %v", err)
	}
	return db
}

// OpenPool opens a pool of pgx with at most so many connections, MaxOpenConns if it is 0. The pool is
// closed when the test ends. Call it after [New] or [NewDatabase], as OpenDB.
func OpenPool(tb testing.TB, dsn string, conns int) *pgxpool.Pool {
	tb.Helper()
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		tb.Fatalf("pgtest: open: %v", err)
	}
	if conns == 0 {
		conns = MaxOpenConns
	}
	config.MaxConns = int32(conns)
	pool, err := pgxpool.NewWithConfig(context.Background(), config)
	if err != nil {
		tb.Fatalf("pgtest: open: %v", err)
	}
	tb.Cleanup(pool.Close)
	ctx, cancel := context.WithTimeout(context.Background(), statementTimeout)
	defer cancel()
	if err := pool.Ping(ctx); err != nil {
		tb.Fatalf("pgtest: the server does not answer: %v", err)
	}
	return pool
}

// ShiftClock has the clock of a store run ahead by d. db's search_path begins with the
// store's schema, as that of [New] does.
func ShiftClock(ctx context.Context, db *sql.DB, d time.Duration) error {
	_, err := db.ExecContext(ctx, strings.ReplaceAll(shiftClock, "{{microseconds}}", strconv.FormatInt(d.Microseconds(), 10)))
	return err
}

// serverURL skips or fails the test where no server is named.
func serverURL(tb testing.TB) *url.URL {
	tb.Helper()
	dsn := os.Getenv(Variable)
	if dsn == "" {
		if os.Getenv("CI") == "true" {
			tb.Fatalf("pgtest: %s is unset; with CI=true this test must run", Variable)
		}
		tb.Skipf("pgtest: %s is unset; `make test` sets it", Variable)
	}
	server, err := url.Parse(dsn)
	if err != nil || (server.Scheme != "postgres" && server.Scheme != "postgresql") {
		tb.Fatalf("pgtest: %s must be a URL, postgres://user@host:port/database", Variable)
	}
	return server
}

// uniqueName returns a name that needs no quotes, under PostgreSQL's 63 bytes.
func uniqueName() string {
	return "headrace_test_" + strings.ToLower(rand.Text())
}

// run executes one statement about name.
func run(tb testing.TB, server, statement, name string) {
	tb.Helper()
	err := session(server, func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, named(statement, name))
		return err
	})
	if err != nil {
		tb.Fatalf("pgtest: %s: %v", strings.TrimSpace(named(statement, name)), err)
	}
}

func named(statement, name string) string {
	return strings.ReplaceAll(statement, "{{name}}", pq.QuoteIdentifier(name))
}
