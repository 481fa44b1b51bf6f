package pgstore

import (
	"os"
	"testing"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store/postgres"
)

// Variable is the environment variable that names the driver.
const Variable = "HEADRACE_TEST_DRIVER"

// Driver returns the driver of this run, "postgres" or "pgx". Any other value fails
// the test.
func Driver(tb testing.TB) string {
	tb.Helper()
	switch name := os.Getenv(Variable); name {
	case "", "postgres":
		return "postgres"
	case "pgx":
		return name
	default:
		tb.Fatalf("pgstore: %s is %q; it may be postgres or pgx", Variable, name)
		return ""
	}
}

// Open opens a store on dsn with the driver of this run. With pgx Options.MaxConns
// bounds the pool that is made for it; zero leaves it at pgtest.MaxOpenConns. The
// store is closed when the test ends; closing it earlier is allowed.
func Open(tb testing.TB, dsn string, o postgres.Options) *postgres.Store {
	tb.Helper()
	return OpenWith(tb, Driver(tb), dsn, o)
}

// OpenWith is Open with a driver, whatever the run is about.
func OpenWith(tb testing.TB, driver, dsn string, o postgres.Options) *postgres.Store {
	tb.Helper()
	st, err := open(tb, driver, dsn, o)
	if err != nil {
		tb.Fatalf("pgstore: %v", err)
	}
	tb.Cleanup(func() { _ = st.Close() })
	return st
}

func open(tb testing.TB, driver, dsn string, o postgres.Options) (*postgres.Store, error) {
	if driver == "postgres" {
		return postgres.Open(tb.Context(), dsn, o)
	}
	conns := o.MaxConns
	o.MaxConns = 0
	return postgres.OpenPool(tb.Context(), pgtest.OpenPool(tb, dsn, conns), o)
}
