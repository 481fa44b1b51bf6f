// Package pgstore opens the PostgreSQL store that a test is about, with the driver
// that the run is about.
//
// The environment variable HEADRACE_TEST_DRIVER names the driver: "postgres" (lib/pq,
// also where it is unset, through postgres.Open) or "pgx" (a pgxpool.Pool, through
// postgres.OpenPool). `make matrix` runs the storage tests with each, on each version of
// the server; a test that is about one driver names it itself and does not come here.
//
// Only tests may import this package.
package pgstore
