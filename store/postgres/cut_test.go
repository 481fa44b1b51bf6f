package postgres_test

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/store/postgres"
)

// hooks run once, before a pool makes a connection and before it hands one out.
type hooks struct {
	connect, acquire atomic.Pointer[func()]
}

func call(f *atomic.Pointer[func()]) {
	if f := f.Swap(nil); f != nil {
		(*f)()
	}
}

// hooked returns a pool of one connection, with the store on it.
func hooked(t *testing.T) (*bundle, *pgxpool.Pool, *hooks) {
	t.Helper()
	dsn, schema := pgstore.New(t)
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		t.Fatal(err)
	}
	h := new(hooks)
	config.MaxConns = 1
	config.BeforeConnect = func(context.Context, *pgx.ConnConfig) error {
		call(&h.connect)
		return nil
	}
	config.PrepareConn = func(context.Context, *pgx.Conn) (bool, error) {
		call(&h.acquire)
		return true, nil
	}
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(pool.Close)
	b := &bundle{T: t, dsn: dsn, schema: schema, db: pgtest.OpenDB(t, "postgres", dsn)}
	b.Store = overPool(t, pool, postgres.Options{Schema: schema, Migrate: true})
	return b, pool, h
}

// lateOn returns a transaction whose BEGIN waits for the first statement, on a connection
// that the server has ended.
func (b *bundle) lateOn(pool *pgxpool.Pool) (*sql.Conn, *sql.Tx) {
	b.Helper()
	var backend int
	if err := pool.QueryRow(b.Context(), "SELECT pg_backend_pid()").Scan(&backend); err != nil {
		b.Fatal(err)
	}
	conn, err := b.DB().Conn(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = conn.Close() })
	tx, err := conn.BeginTx(postgres.LateBegin(b.Context()), nil)
	if err != nil {
		b.Fatal(err)
	}
	if !one[bool](b, b.db, "SELECT pg_terminate_backend($1, 10000)", backend) {
		b.Fatal("the backend has not ended")
	}
	return conn, tx
}

// A cut reaches a transaction whose connection is being replaced: before that, so that it asks
// for none, while it waits for another one, and when it has just got one, which the pool has
// again.
func TestCutWhileReplaced(t *testing.T) {
	for name, prepare := range map[string]func(h *hooks, cut func(), release chan struct{}){
		"before": func(h *hooks, cut func(), release chan struct{}) {
			cut()
			connect := func() { <-release }
			h.connect.Store(&connect)
		},
		"while it waits": func(h *hooks, cut func(), release chan struct{}) {
			connect := func() { cut(); <-release }
			h.connect.Store(&connect)
		},
		"after it": func(h *hooks, cut func(), _ chan struct{}) {
			acquire := func() { cut() }
			h.acquire.Store(&acquire)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b, pool, h := hooked(t)
			conn, tx := b.lateOn(pool)
			release := make(chan struct{})
			free := sync.OnceFunc(func() { close(release) })
			t.Cleanup(free)
			prepare(h, postgres.Cutter(conn), release)
			within(t, bound, "a statement on a connection that was cut", func() {
				if err := tx.QueryRowContext(context.Background(), b.SQL("ping")).Scan(new(int)); err == nil {
					t.Error("a statement after the cut")
				}
			})
			if left := h.connect.Load() != nil || h.acquire.Load() != nil; left != (name == "before") {
				t.Errorf("the hook has not run: %t", left)
			}
			free()
			_ = tx.Rollback()
			_ = conn.Close()
			within(t, bound, "the pool's next connection", func() {
				if err := pool.Ping(context.Background()); err != nil {
					t.Errorf("the pool's next user: %v", err)
				}
			})
			if n := pool.Stat().AcquiredConns(); n != 0 {
				t.Errorf("%d connections were not given back", n)
			}
		})
	}
}

// A cut that comes when the pool has the connection again does nothing to its next user.
func TestLateCut(t *testing.T) {
	b, pool, _ := hooked(t)
	conn, err := b.DB().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	cut := postgres.Cutter(conn)
	backend := one[int](b, conn, "SELECT pg_backend_pid()")
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
	next, err := pool.Acquire(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer next.Release()
	cut()
	var again int
	if err := next.QueryRow(t.Context(), "SELECT pg_backend_pid()").Scan(&again); err != nil || again != backend {
		t.Errorf("the next user has backend %d instead of %d: %v", again, backend, err)
	}
}

// A connection that was cut is closed by that.
func TestCloseAfterACut(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	b.begin().Rollback()
	b.CutAll()
	if err := b.Close(); err != nil {
		t.Error(err)
	}
}
