package postgres_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// bound is what our own connections may take beyond the end of a context, and some
// for a busy machine.
const bound = 6 * time.Second

// frozenStore is a store behind a network that can be frozen.
func frozenStore(t *testing.T, driver string) (*bundle, *pgtest.Proxy) {
	b := setup(t, "open", "", postgres.Options{})
	p, through := pgtest.NewProxy(t, b.dsn)
	o := postgres.Options{Schema: b.schema}
	b.Store = connect(t, driver, through, o)
	if driver != "pool" {
		// A pool of idle connections, more than a test takes.
		b.DB().SetMaxIdleConns(12)
	}
	var all []*txn.Txn
	for range 12 {
		all = append(all, b.begin())
	}
	for _, x := range all {
		x.Rollback()
	}
	return b, p
}

// ended runs f on a frozen network under a context that ends while it waits, and fails
// the test unless it returns soon after that, with an error.
func ended(t *testing.T, what string, f func(context.Context) error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	within(t, bound, what, func() {
		if err := f(ctx); err == nil {
			t.Errorf("%s: no error", what)
		}
	})
}

// TRAPS, Databases: lib/pq asks the server to cancel what runs, over a connection that
// hangs as well. On our connections everything ends with its context all the same:
// statements outside of a transaction and inside, prepared and not, BEGIN, COMMIT and
// ROLLBACK, a new connection, and Close.
//
//evidence:frozen-stop
func TestFrozenNetwork(t *testing.T) {
	for _, driver := range []string{"open", "pool", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b, p := frozenStore(t, driver)
			b.SetCommitTimeout(300 * time.Millisecond)
			open, claimed, prepared := b.begin(), b.begin(), b.begin()
			b.claim(claimed, inbox.ClaimRequest{Limits: txn.Limits{Idle: time.Second}}, "k")
			stmt, err := prepared.PrepareContext(t.Context(), "SELECT $1::int")
			if err != nil {
				t.Fatal(err)
			}
			p.Freeze()
			ended(t, "a poll", func(ctx context.Context) error {
				_, err := b.Backlog().Poll(ctx, "billing", nil)
				return err
			})
			ended(t, "pauses", func(ctx context.Context) error {
				_, err := b.Operations().Pauses.List(ctx)
				return err
			})
			ended(t, "alerts", func(ctx context.Context) error {
				_, err := b.Operations().Conditions.List(ctx, "billing", false)
				return err
			})
			ended(t, "Begin", func(ctx context.Context) error {
				x, err := b.Begin(ctx)
				if err == nil { // its BEGIN waits for a statement
					_, err = x.ExecContext(ctx, "SELECT 1")
					x.Rollback()
				}
				return err
			})
			ended(t, "Ping", b.Ping)
			ended(t, "a statement in a transaction", func(ctx context.Context) error {
				_, err := open.ExecContext(ctx, "SELECT $1::int", 1)
				return err
			})
			ended(t, "a prepared one", func(ctx context.Context) error {
				_, err := stmt.ExecContext(ctx, 1)
				return err
			})
			ended(t, "COMMIT", func(ctx context.Context) error { return b.Commit(ctx, claimed, nil) })
			within(t, 10*time.Second, "Rollback", open.Rollback)
			within(t, 10*time.Second, "Rollback of the prepared one", prepared.Rollback)
			within(t, 10*time.Second, "Close", func() { _ = b.Close() })
		})
	}
}

// A transaction of our own ends soon after its context, also in COMMIT: the loops of a consumer
// would hold up its stop.
//
//evidence:frozen-stop
func TestFrozenTransact(t *testing.T) {
	for _, driver := range []string{"open", "pool", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b, p := frozenStore(t, driver)
			ctx, cancel := context.WithCancel(t.Context())
			within(t, bound+2*time.Second, "Transact", func() {
				err := store.Transact(ctx, b.Store, func(x *txn.Txn) error {
					_, err := x.ExecContext(ctx, "SELECT 1")
					p.Freeze()
					cancel()
					return err
				})
				if !errors.Is(err, txn.ErrCommitUnknown) {
					t.Errorf("got %v", err)
				}
			})
			p.Thaw()
		})
	}
}

// A ROLLBACK without an answer is given up after five seconds.
func TestFrozenRollback(t *testing.T) {
	for _, driver := range []string{"open", "pool", "pgx", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b, p := frozenStore(t, driver)
			x := b.begin()
			if _, err := x.ExecContext(t.Context(), "SELECT 1"); err != nil {
				t.Fatal(err)
			}
			p.Freeze()
			within(t, 10*time.Second, "Rollback", x.Rollback)
			p.Thaw()
		})
	}
}

// lib/pq on the caller's connections: Begin gives up with its context, what waits for
// the answer is left, and ends when the network is back. Close waits for that.
func TestFrozenBeginOfTheCallers(t *testing.T) {
	b, p := frozenStore(t, "postgres")
	p.Freeze()
	ended(t, "Begin", func(ctx context.Context) error {
		_, err := b.Begin(ctx)
		if txn.Classify(err) != txn.Connection {
			t.Errorf("class %s: %v", txn.Classify(err), err)
		}
		return err
	})
	p.Thaw()
	within(t, 10*time.Second, "Close", func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	if n := b.DB().Stats().InUse; n != 0 {
		t.Errorf("%d connections are in use", n)
	}
}

// A statement that the server cancels on a network that works: the error is the
// server's word, and our connection is not cut before it came.
func TestCancelledStatement(t *testing.T) {
	b, _ := frozenStore(t, "open")
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	within(t, 3*time.Second, "pg_sleep", func() {
		_, err := b.DB().ExecContext(ctx, "SELECT pg_sleep(60)")
		var state interface{ SQLState() string }
		if !errors.Is(err, context.DeadlineExceeded) && (!errors.As(err, &state) || state.SQLState() != "57014") {
			t.Errorf("%v", err)
		}
	})
	var one int
	if err := b.DB().QueryRowContext(t.Context(), "SELECT 1").Scan(&one); err != nil {
		t.Error(err)
	}
}
