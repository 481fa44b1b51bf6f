package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/lib/pq"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestConformanceOpen(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(func(tb testing.TB, dsn string, o postgres.Options) *postgres.Store {
		return connect(tb, "open", dsn, o)
	}))
}

func TestConformancePool(t *testing.T) {
	t.Parallel()
	storetest.Run(t, harness(func(tb testing.TB, dsn string, o postgres.Options) *postgres.Store {
		return connect(tb, "pool", dsn, o)
	}))
}

// harness runs the suite over stores that make makes.
func harness(make func(testing.TB, string, postgres.Options) *postgres.Store) storetest.Harness {
	return storetest.Harness{
		Capabilities: storetest.Capabilities{ConcurrentWriters: true, AbortsOnError: true, ServerLimits: true, ChecksDeferred: true},
		New: func(tb testing.TB) storetest.Instance {
			dsn, schema := pgstore.New(tb)
			s := make(tb, dsn, postgres.Options{Schema: schema, Migrate: true})
			db := pgtest.OpenDB(tb, "postgres", dsn)
			return storetest.Instance{
				Store: s, DB: db, Schema: pq.QuoteIdentifier(schema),
				Shift:  func(ctx context.Context, d time.Duration) error { return pgtest.ShiftClock(ctx, db, d) },
				Reopen: func() store.Store { return make(tb, dsn, postgres.Options{Schema: schema}) },
				Waiters: func(ctx context.Context) (n int, err error) {
					// The sessions of a schema have its name.
					err = db.QueryRowContext(ctx, "SELECT count(*) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'", schema).Scan(&n)
					return n, err
				},
			}
		},
		Empty: func(tb testing.TB) (store.Migrator, store.Migrator) {
			dsn, schema := pgtest.New(tb)
			o := postgres.Options{Schema: schema, Unchecked: true}
			return make(tb, dsn, o), make(tb, dsn, o)
		},
	}
}

// connect opens a store in one of the ways that drivers names.
func connect(tb testing.TB, driver, dsn string, o postgres.Options) *postgres.Store {
	tb.Helper()
	switch driver {
	case "open":
		return open(tb, dsn, o)
	case "pool":
		return overPool(tb, pgtest.OpenPool(tb, dsn, 0), o)
	}
	return wrap(tb, driver, dsn, o)
}

// overPool is postgres.OpenPool with a store that is closed when the test ends.
func overPool(tb testing.TB, pool *pgxpool.Pool, o postgres.Options) *postgres.Store {
	tb.Helper()
	s, err := postgres.OpenPool(tb.Context(), pool, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { shut(tb, s) })
	return s
}

// open is postgres.Open with a store that is closed when the test ends.
func open(tb testing.TB, dsn string, o postgres.Options) *postgres.Store {
	tb.Helper()
	s, err := postgres.Open(tb.Context(), dsn, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { shut(tb, s) })
	return s
}

// wrap is postgres.New on a database handle of that driver.
func wrap(tb testing.TB, driver, dsn string, o postgres.Options) *postgres.Store {
	tb.Helper()
	s, err := postgres.New(tb.Context(), pgtest.OpenDB(tb, driver, dsn), o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { shut(tb, s) })
	return s
}

func shut(tb testing.TB, s *postgres.Store) {
	tb.Helper()
	if err := s.Close(); err != nil {
		tb.Errorf("close: %v", err)
	}
}
