package fault_test

import (
	"context"
	"errors"
	"path/filepath"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/headrace/headrace/internal/fault"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
	"github.com/headrace/headrace/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func goOn(fault.Point) error { return nil }

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

// TestConformance: a wrapped store, whose hook does nothing, is the store.
func TestConformance(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(tb testing.TB) storetest.Instance {
			path := filepath.Join(tb.TempDir(), "test.db")
			st := open(tb, path, sqlite.Options{Migrate: true})
			return storetest.Instance{
				Store: fault.Store(st, goOn), DB: st.DB(), Schema: `"main"`, Age: age(st),
				Reopen: func() store.Store { return fault.Store(open(tb, path, sqlite.Options{}), goOn) },
			}
		},
		Empty: func(tb testing.TB) (store.Migrator, store.Migrator) {
			path := filepath.Join(tb.TempDir(), "test.db")
			migrator := func() store.Migrator {
				return fault.Store(open(tb, path, sqlite.Options{Unchecked: true}), goOn).(store.Migrator)
			}
			return migrator(), migrator()
		},
	})
}

// age moves times in a file back.
func age(st *sqlite.Store) func(context.Context, int, string) error {
	return func(ctx context.Context, hours int, key string) error {
		_, rows := st.DB().ExecContext(ctx, "UPDATE headrace_inbox SET changed_at = changed_at - $1 * 3600000000 WHERE $2 IN (key, '')", hours, key)
		_, letters := st.DB().ExecContext(ctx, "UPDATE headrace_dead_letters SET changed_at = changed_at - $1 * 3600000000 WHERE $2 IN (key, '')", hours, key)
		return errors.Join(rows, letters)
	}
}

// Wrapping hides nothing that the relay, the consumer or the suites ask for.
func TestNothingIsHidden(t *testing.T) {
	st := fault.Store(open(t, filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true}), goOn)
	if _, ok := st.(store.Checker); !ok {
		t.Error("it is no Checker")
	}
	if _, ok := st.Outbox().(outbox.SingleWriter); !ok {
		t.Error("its outbox is no SingleWriter: the relay would publish inside of a transaction")
	}
	retains := fault.Subscriber(retaining{newSource()}, goOn)
	if r, ok := retains.(interface{ Retention() time.Duration }); !ok || r.Retention() != time.Hour {
		t.Error("the source's retention is hidden")
	}
	if _, ok := fault.Subscriber(newSource(), goOn).(interface{ Retention() time.Duration }); ok {
		t.Error("a source without a retention has one")
	}
}
