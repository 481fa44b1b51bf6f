package breaker_test

import (
	"context"
	"database/sql"
	"path/filepath"
	"testing"

	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/sqlite"
)

func onEachStore(t *testing.T, f func(t *testing.T, st store.Store)) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		st, err := sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = st.Close() })
		f(t, st)
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		dsn, schema := pgstore.New(t)
		f(t, pgstore.Open(t, dsn, postgres.Options{Schema: schema, Migrate: true}))
	})
}

// A store that is well serves, and a probe leaves nothing behind.
//
//evidence:cannot-serve
func TestAsk(t *testing.T) {
	t.Parallel()
	onEachStore(t, func(t *testing.T, st store.Store) {
		for _, p := range []breaker.Probe{breaker.Claims, breaker.Events, breaker.Failures} {
			if err := breaker.Ask(t.Context(), st, p); err != nil {
				t.Errorf("probe %d: %v", p, err)
			}
		}
		counts, err := st.Inbox().Counts(context.Background(), "")
		depths, err2 := st.Backlog().Depths(context.Background())
		if err != nil || err2 != nil || len(counts)+len(depths) != 0 {
			t.Errorf("left behind: %v, %+v, %v, %v", counts, depths, err, err2)
		}
		var large int
		db := st.(interface{ DB() *sql.DB }).DB()
		if err := db.QueryRow("SELECT count(*) FROM headrace_prunes WHERE position <> ''").Scan(&large); err != nil || large != 0 {
			t.Errorf("%d large rows stay, %v", large, err)
		}
	})
}
