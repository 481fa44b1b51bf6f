package pgtest

import (
	"database/sql"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
)

// fakeTB records how a test would end, and runs its cleanups on demand.
type fakeTB struct {
	testing.TB
	outcome, message string
	cleanups         []func()
}

func (f *fakeTB) Helper() {}

func (f *fakeTB) Cleanup(fn func()) { f.cleanups = append(f.cleanups, fn) }

func (f *fakeTB) Skipf(format string, args ...any) { f.end("skip", fmt.Sprintf(format, args...)) }

func (f *fakeTB) Fatalf(format string, args ...any) { f.end("fatal", fmt.Sprintf(format, args...)) }

func (f *fakeTB) end(outcome, message string) {
	f.outcome, f.message = outcome, message
	runtime.Goexit()
}

// run runs body until it returns or ends the test.
func (f *fakeTB) run(body func()) {
	var done sync.WaitGroup
	done.Go(body)
	done.Wait()
}

// finish runs the cleanups in a test's order.
func (f *fakeTB) finish() {
	for i := len(f.cleanups) - 1; i >= 0; i-- {
		f.cleanups[i]()
	}
}

func TestWithoutServer(t *testing.T) {
	for _, tc := range []struct{ name, dsn, ci, outcome string }{
		{"skips at home", "", "", "skip"},
		{"fails in CI", "", "true", "fatal"},
		{"refuses what is no URL", "host=localhost", "", "fatal"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Setenv(Variable, tc.dsn)
			t.Setenv("CI", tc.ci)
			tb := &fakeTB{}
			tb.run(func() { Open(tb) })
			if tb.outcome != tc.outcome || !strings.Contains(tb.message, Variable) {
				t.Errorf("got %s %q, want %s and a message that names %s", tb.outcome, tb.message, tc.outcome, Variable)
			}
		})
	}
}

func TestOpenDBRefusesUnknownDriver(t *testing.T) {
	tb := &fakeTB{}
	tb.run(func() { OpenDB(tb, "mysql", "") })
	if tb.outcome != "fatal" || !strings.Contains(tb.message, "mysql") {
		t.Errorf("got %s %q, want a failure that names the driver", tb.outcome, tb.message)
	}
}

func count(t *testing.T, db *sql.DB, query string, args ...any) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// Many at once: each sees its own table, under the same name, through both drivers.
func TestSchemasAreApart(t *testing.T) {
	t.Parallel()
	for range 8 {
		t.Run("", func(t *testing.T) {
			t.Parallel()
			db := Open(t)
			if _, err := db.ExecContext(t.Context(), "CREATE TABLE effects (n int)"); err != nil {
				t.Fatal(err)
			}
			other := OpenDB(t, "pgx", db.DSN)
			if _, err := other.ExecContext(t.Context(), "INSERT INTO effects VALUES (1)"); err != nil {
				t.Fatal(err)
			}
			if n := count(t, db.DB, "SELECT count(*) FROM "+db.Schema+".effects"); n != 1 {
				t.Errorf("%d rows in a table of my own, want 1", n)
			}
		})
	}
}

// The handle is closed before the schema is dropped, and the schema takes its tables with it.
func TestSchemaIsDropped(t *testing.T) {
	t.Parallel()
	watcher := Open(t)
	tb := &fakeTB{TB: t}
	db := Open(tb)
	if _, err := db.ExecContext(t.Context(), "CREATE TABLE effects (n int)"); err != nil {
		t.Fatal(err)
	}
	const query = "SELECT count(*) FROM pg_namespace WHERE nspname = $1"
	if n := count(t, watcher.DB, query, db.Schema); n != 1 {
		t.Fatalf("%d schemas while the test runs, want 1", n)
	}
	tb.finish()
	if n := count(t, watcher.DB, query, db.Schema); n != 0 {
		t.Errorf("%d schemas after the test, want 0", n)
	}
	if err := db.PingContext(t.Context()); err == nil {
		t.Error("the handle is open after the test")
	}
}

// A database goes even while a session of the test is open in it.
func TestDatabaseIsDropped(t *testing.T) {
	t.Parallel()
	watcher := Open(t)
	tb := &fakeTB{TB: t}
	dsn := NewDatabase(tb)
	if dsn == os.Getenv(Variable) {
		t.Fatal("the database is the server's own")
	}
	db := OpenDB(t, "pgx", dsn) // closed by t, after tb has finished
	var name string
	if err := db.QueryRowContext(t.Context(), "SELECT current_database()").Scan(&name); err != nil {
		t.Fatal(err)
	}
	const query = "SELECT count(*) FROM pg_database WHERE datname = $1"
	if n := count(t, watcher.DB, query, name); n != 1 {
		t.Fatalf("%d databases named %s, want 1", n, name)
	}
	tb.finish()
	if n := count(t, watcher.DB, query, name); n != 0 {
		t.Errorf("%d databases named %s after the test, want 0", n, name)
	}
}
