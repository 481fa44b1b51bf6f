package pgstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store/postgres"
)

// `make matrix` proves something about a driver only if the store really speaks it.
func TestTheRunChoosesTheDriver(t *testing.T) {
	for name, want := range map[string]bool{"": true, "postgres": true, "pgx": false} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(pgstore.Variable, name)
			dsn, schema := pgtest.New(t)
			st := pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true, MaxConns: 3})
			conn, err := st.DB().Conn(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			for range 2 {
				held, err := st.DB().Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer held.Close()
			}
			ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
			defer cancel()
			if _, err := st.DB().Conn(ctx); err == nil {
				t.Error("a fourth connection")
			}
			// Both speak of themselves only in what they hand out.
			_, err = conn.ExecContext(t.Context(), "SELECT 1/0")
			if _, isPQ := err.(*pq.Error); isPQ != want {
				t.Errorf("%T of driver %q", err, name)
			}
		})
	}
}
