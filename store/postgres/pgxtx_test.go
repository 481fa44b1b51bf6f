package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// overPgx returns a store on a pool with a table n of numbers; the invariants are checked when the
// test ends.
func overPgx(t *testing.T) *bundle {
	t.Helper()
	b := setup(t, "pool", "", postgres.Options{})
	b.exec("CREATE TABLE n (n bigint PRIMARY KEY)")
	t.Cleanup(func() {
		report, err := b.Check(context.Background())
		if err != nil || !report.OK() {
			t.Errorf("the invariants do not hold: %v, %+v", err, report)
		}
	})
	return b
}

// handler returns what a handler has in a transaction that has claimed key.
func (b *bundle) handler(key string, alone bool) (*txn.Txn, *headrace.Tx, pgx.Tx) {
	b.Helper()
	x := b.begin()
	b.claim(x, inbox.ClaimRequest{}, key)
	tx := headrace.NewTx(x, headrace.TxOptions{Alone: alone})
	p, err := postgres.PgxTx(tx)
	if err != nil {
		b.Fatal(err)
	}
	return x, tx, p
}

func (b *bundle) numbers() string {
	b.Helper()
	return one[string](b, b.db, "SELECT COALESCE(string_agg(n::text, ' ' ORDER BY n), '') FROM n")
}

func TestPgxTxCommitsWithTheMessage(t *testing.T) {
	b := overPgx(t)
	ctx := t.Context()
	x, tx, p := b.handler("k", false)
	insert := func(p pgx.Tx, n int) {
		t.Helper()
		if tag, err := p.Exec(ctx, "INSERT INTO n VALUES ($1)", n); err != nil || tag.RowsAffected() != 1 {
			t.Fatal(tag, err)
		}
	}
	insert(p, 1)
	if n, err := p.CopyFrom(ctx, pgx.Identifier{"n"}, []string{"n"}, pgx.CopyFromRows([][]any{{2}, {3}})); n != 2 || err != nil {
		t.Fatal(n, err)
	}
	batch := new(pgx.Batch)
	batch.Queue("INSERT INTO n VALUES ($1)", 4)
	if err := p.SendBatch(ctx, batch).Close(); err != nil {
		t.Fatal(err)
	}
	for n, end := range map[int]func(pgx.Tx, context.Context) error{5: pgx.Tx.Commit, 6: pgx.Tx.Rollback} {
		inner, err := p.Begin(ctx)
		if err != nil {
			t.Fatal(err)
		}
		insert(inner, n)
		if err := errors.Join(end(inner, ctx)); err != nil {
			t.Fatal(err)
		}
		if err := inner.Rollback(ctx); !errors.Is(err, pgx.ErrTxClosed) {
			t.Errorf("a second end: %v", err)
		}
	}
	if x.Subtransactions() != 2 {
		t.Errorf("%d savepoints were counted", x.Subtransactions())
	}
	rows, _ := p.Query(ctx, "SELECT n FROM n ORDER BY n") // CollectRows has its error
	if all, err := pgx.CollectRows(rows, pgx.RowTo[int]); err != nil || fmt.Sprint(all) != "[1 2 3 4 5]" {
		t.Error(all, err)
	}
	if err := p.QueryRow(ctx, "SELECT n FROM n WHERE n = 9").Scan(new(int)); !errors.Is(err, pgx.ErrNoRows) {
		t.Error(err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO n VALUES (7)"); err != nil || tx.Failed() || tx.Close() != nil {
		t.Error(err, tx.Failed())
	}
	if b.numbers() != "" {
		t.Error("visible before the commit")
	}
	if err := b.Commit(ctx, x, nil); err != nil {
		t.Fatal(err)
	}
	if got := b.numbers(); got != "1 2 3 4 5 7" {
		t.Errorf("committed %s", got)
	}
}

// What would end or change the transaction is refused as it is in Tx.
//
//evidence:transaction
func TestPgxTxRefuses(t *testing.T) {
	b := overPgx(t)
	ctx := t.Context()
	batch := new(pgx.Batch)
	batch.Queue("SELECT 1; ROLLBACK")
	for name, f := range map[string]func(pgx.Tx) error{
		"Commit":   func(p pgx.Tx) error { return p.Commit(ctx) },
		"Rollback": func(p pgx.Tx) error { return p.Rollback(ctx) },
		"Exec":     func(p pgx.Tx) error { _, err := p.Exec(ctx, "COMMIT"); return err },
		"Query":    func(p pgx.Tx) error { _, err := p.Query(ctx, "END"); return err },
		"QueryRow": func(p pgx.Tx) error { return p.QueryRow(ctx, "ABORT").Scan() },
		"Prepare":  func(p pgx.Tx) error { _, err := p.Prepare(ctx, "x", "SAVEPOINT x"); return err },
		"SET":      func(p pgx.Tx) error { _, err := p.Exec(ctx, "SET role = x"); return err },
		"batch":    func(p pgx.Tx) error { return p.SendBatch(ctx, batch).Close() },
	} {
		x, tx, p := b.handler(name, false)
		if err := f(p); !errors.Is(err, headrace.ErrForbidden) {
			t.Errorf("%s: %v", name, err)
		}
		if err := tx.Close(); !errors.Is(err, headrace.ErrForbidden) {
			t.Errorf("%s: the message would be committed: %v", name, err)
		}
		if id := one[string](b, x, "SELECT pg_current_xact_id()::text"); id != x.ID() {
			t.Errorf("%s ended the transaction", name)
		}
		x.Rollback()
	}
	x, _, p := b.handler("shared", false)
	objects := p.LargeObjects()
	if _, err := objects.Create(ctx, 0); p.Conn() != nil || !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("Conn and LargeObjects of a shared transaction: %v", err)
	}
	x.Rollback()
	x, tx, p := b.handler("alone", true)
	objects = p.LargeObjects()
	if _, err := objects.Create(ctx, 0); err != nil || p.Conn() == nil || !tx.Failed() || !tx.SessionChanged() {
		t.Errorf("of a transaction alone: %v", err)
	}
	if err := b.Commit(ctx, x, nil); err != nil {
		t.Error(err)
	}
	if _, err := objects.Create(ctx, 0); !errors.Is(err, pgx.ErrTxClosed) {
		t.Errorf("of a transaction that has ended: %v", err)
	}
}

func TestPgxTxEndsWithTheHandler(t *testing.T) {
	b := overPgx(t)
	ctx := t.Context()
	x, tx, p := b.handler("k", false)
	rows, err := p.Query(ctx, "SELECT generate_series(1, 10000)")
	if err != nil || !rows.Next() {
		t.Fatal(err)
	}
	_ = tx.Close()
	tx.CloseRows()
	if rows.Next() {
		t.Error("rows go on")
	}
	_, err = p.Exec(ctx, "SELECT 1")
	_, err2 := p.Begin(ctx)
	_, err3 := postgres.PgxTx(tx)
	for _, err := range []error{err, err2, err3, p.Commit(ctx), p.QueryRow(ctx, "SELECT 1").Scan(), p.SendBatch(ctx, new(pgx.Batch)).Close()} {
		if !errors.Is(err, headrace.ErrTxDone) {
			t.Errorf("after the handler: %v", err)
		}
	}
	if err := b.Commit(ctx, x, nil); err != nil {
		t.Error(err)
	}
	// And where only the transaction has ended, its connection is another's.
	x, _, p = b.handler("again", false)
	x.Rollback()
	if _, err := p.Exec(ctx, "SELECT 1"); err == nil {
		t.Error("a statement on a connection that was given back")
	}
}

// A handler that does not return is left behind in a statement: the transaction is discarded beside
// it, and its statement ends.
func TestPgxTxLeftBehind(t *testing.T) {
	b := overPgx(t)
	x, tx, p := b.handler("k", false)
	backend := one[int](b, x, "SELECT pg_backend_pid()")
	ended := make(chan error)
	go func() {
		_, err := p.Exec(context.Background(), "SELECT pg_sleep(60)")
		if err != nil {
			_, err = p.Exec(context.Background(), "INSERT INTO n VALUES (1)")
		}
		ended <- err
	}()
	for one[int](b, b.db, "SELECT count(*) FROM pg_stat_activity WHERE pid = $1 AND wait_event = 'PgSleep'", backend) == 0 {
		if t.Context().Err() != nil {
			t.Fatal("the statement does not run")
		}
	}
	_ = tx.Close()
	x.Discard()
	if err := <-ended; !errors.Is(err, headrace.ErrTxDone) {
		t.Errorf("a statement after that: %v", err)
	}
}

// Rows, batches and failures that a handler leaves behind are found as those of Tx are.
//
//evidence:open-rows
func TestPgxTxLeft(t *testing.T) {
	b := overPgx(t)
	ctx := t.Context()
	for name, c := range map[string]struct {
		leave  func(p pgx.Tx)
		failed bool
	}{
		"rows":   {func(p pgx.Tx) { rows, _ := p.Query(ctx, "SELECT generate_series(1, 10000)"); rows.Next() }, false},
		"a row":  {func(p pgx.Tx) { p.QueryRow(ctx, "SELECT generate_series(1, 10000)") }, false},
		"batch":  {func(p pgx.Tx) { p.SendBatch(ctx, queued("SELECT 1", "SELECT 2")) }, false},
		"failed": {func(p pgx.Tx) { _, _ = p.Exec(ctx, "SELECT 1/0") }, true},
		"failed in rows": {func(p pgx.Tx) {
			rows, _ := p.Query(ctx, "SELECT 1/(5000-n) FROM generate_series(1, 10000) AS n")
			rows.Next()
		}, true},
		"failed in a batch":      {func(p pgx.Tx) { p.SendBatch(ctx, queued("SELECT 1", "SELECT 1/0")) }, true},
		"failed in a batch, end": {func(p pgx.Tx) { _ = p.SendBatch(ctx, queued("SELECT 1/0")).Close() }, true},
		"failed copy": {func(p pgx.Tx) {
			_, _ = p.CopyFrom(ctx, pgx.Identifier{"n"}, []string{"n"}, pgx.CopyFromRows([][]any{{1}, {1}}))
		}, true},
	} {
		x, tx, p := b.handler(name, false)
		c.leave(p)
		_ = tx.Close()
		tx.CloseRows()
		if tx.Failed() != c.failed || tx.EverFailed() != c.failed {
			t.Errorf("%s: failed is %t", name, tx.Failed())
		}
		if err := x.Alive(ctx); (txn.Classify(err) == txn.Aborted) != c.failed || !c.failed && err != nil {
			t.Errorf("%s: alive: %v", name, err)
		}
		if err := b.Commit(ctx, x, nil); errors.Is(err, txn.ErrRolledBack) != c.failed || !c.failed && err != nil {
			t.Errorf("%s: commit: %v", name, err)
		}
	}
}

func queued(queries ...string) *pgx.Batch {
	batch := new(pgx.Batch)
	for _, query := range queries {
		batch.Queue(query)
	}
	return batch
}

func TestPgxTxWithoutPgx(t *testing.T) {
	for _, driver := range []string{"open", "pgx", "postgres"} {
		b := setup(t, driver, "", postgres.Options{})
		if _, err := postgres.PgxTx(headrace.NewTx(b.begin(), headrace.TxOptions{})); !errors.Is(err, postgres.ErrNotPgx) {
			t.Errorf("%s: %v", driver, err)
		}
	}
	if _, err := postgres.PgxTx(nil); !errors.Is(err, headrace.ErrNoTx) {
		t.Error(err)
	}
}

// A connection whose session may have been changed does not go back to the caller's pool.
//
//evidence:session
func TestPoolClosesRetiredConnections(t *testing.T) {
	dsn, schema := pgstore.New(t)
	pool := pgtest.OpenPool(t, dsn, 1)
	b := &bundle{T: t, Store: overPool(t, pool, postgres.Options{Schema: schema, Migrate: true})}
	for _, end := range []func(*txn.Txn){(*txn.Txn).Rollback, (*txn.Txn).Discard, func(x *txn.Txn) {
		if err := b.Commit(t.Context(), x, nil); err != nil {
			t.Error(err)
		}
	}} {
		x := b.begin()
		if _, err := x.ExecContext(t.Context(), "SET statement_timeout = '77s'"); err != nil {
			t.Fatal(err)
		}
		x.Retire()
		end(x)
		var timeout string
		if err := pool.QueryRow(t.Context(), "SHOW statement_timeout").Scan(&timeout); err != nil || timeout == "77s" {
			t.Errorf("the pool's connection has a timeout of %s: %v", timeout, err)
		}
	}
}

// A savepoint is rolled back also when its context has ended: pgx sends nothing then, and
// what the handler took back would be committed.
func TestPgxTxRollbackAfterItsContext(t *testing.T) {
	b := overPgx(t)
	x, tx, p := b.handler("k", false)
	ctx, cancel := context.WithCancel(t.Context())
	inner, err := p.Begin(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := inner.Exec(ctx, "INSERT INTO n VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := inner.Rollback(ctx); err != nil {
		t.Error(err)
	}
	if err := tx.Close(); err != nil {
		t.Error(err)
	}
	if err := b.Commit(t.Context(), x, nil); err != nil {
		t.Error(err)
	}
	if got := b.numbers(); got != "" {
		t.Errorf("what was rolled back is committed: %s", got)
	}
}

func TestExecer(t *testing.T) {
	b := overPgx(t)
	pool := pgtest.OpenPool(t, b.dsn, 2) // another one
	ob := outbox.New(b.Outbox())
	for n, end := range []func(pgx.Tx, context.Context) error{pgx.Tx.Rollback, pgx.Tx.Commit} {
		tx, err := pool.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := ob.Publish(t.Context(), postgres.Execer(tx), headrace.Event{Topic: "t", Payload: []byte{0, 0xff}}, headrace.Event{Topic: "u", Value: 1}); err != nil {
			t.Error(err)
		}
		if err := end(tx, t.Context()); err != nil {
			t.Error(err)
		}
		if got := one[int](b, b.db, "SELECT count(*) FROM headrace_outbox"); got != 2*n {
			t.Errorf("%d events", got)
		}
	}
}
