package fault_test

import (
	"context"
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

// TestConformanceWrapped: a wrapped store, whose hook does nothing, is the store. make test leaves it out.
func TestConformanceWrapped(t *testing.T) {
	storetest.Run(t, storetest.Harness{
		New: func(tb testing.TB) storetest.Instance {
			path := filepath.Join(tb.TempDir(), "test.db")
			st := open(tb, path, sqlite.Options{Migrate: true})
			return storetest.Instance{
				Store: fault.Store(st, goOn), DB: st.DB(), Schema: `"main"`, Shift: shift(st),
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

// shift has the clock of a file run ahead.
func shift(st *sqlite.Store) func(context.Context, time.Duration) error {
	return func(ctx context.Context, d time.Duration) error {
		_, err := st.DB().ExecContext(ctx, "UPDATE headrace_clock SET shift_us = $1", d.Microseconds())
		return err
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
