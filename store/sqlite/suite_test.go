package sqlite_test

import (
	"context"
	"os"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/storetest"
)

func TestMain(m *testing.M) {
	if role := os.Getenv(roleVariable); role != "" {
		child(role, os.Getenv(pathVariable))
		return
	}
	goleak.VerifyTestMain(m)
}

// TestStore puts the driver through the suite that all stores share.
func TestStore(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(tb testing.TB) storetest.Instance {
			path := filepath.Join(tb.TempDir(), "test.db")
			st := open(tb, path, sqlite.Options{Migrate: true})
			reopen := func() store.Store { return open(tb, path, sqlite.Options{}) }
			return storetest.Instance{Store: st, DB: st.DB(), Schema: `"main"`, Reopen: reopen, Shift: shift(st)}
		},
		Empty: func(tb testing.TB) (store.Migrator, store.Migrator) {
			path := filepath.Join(tb.TempDir(), "test.db")
			return open(tb, path, sqlite.Options{Unchecked: true}), open(tb, path, sqlite.Options{Unchecked: true})
		},
	})
}

// shift has the clock of a file run ahead.
func shift(st *sqlite.Store) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		_, err := st.DB().ExecContext(ctx, "UPDATE headrace_clock SET shift_us = $1", d.Microseconds())
		return err
	}
}

// open opens a store that the end of the test closes.
func open(tb testing.TB, path string, o sqlite.Options) *sqlite.Store {
	tb.Helper()
	st, err := sqlite.Open(tb.Context(), path, o)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := st.Close(); err != nil {
			tb.Errorf("Close: %v", err)
		}
	})
	return st
}

var _ store.Store = (*sqlite.Store)(nil)
