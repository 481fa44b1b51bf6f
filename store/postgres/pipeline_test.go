package postgres_test

import (
	"errors"
	"runtime/metrics"
	"strconv"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// DESIGN §3 Claim: a BEGIN that fails lets nothing commit that travels with it, nor a later
// statement.
func TestBeginThatFails(t *testing.T) {
	b := overPgx(t)
	for _, query := range []string{b.SQL("ping"), "SELECT 1"} {
		conn, err := b.DB().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		tx, err := conn.BeginTx(postgres.LateBegin(t.Context()), nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := conn.Raw(postgres.BreakBegin); err != nil {
			t.Fatal(err)
		}
		if err := tx.QueryRowContext(t.Context(), query).Scan(new(int)); err == nil {
			t.Errorf("%q in a transaction that has not begun", query)
		}
		if _, err := tx.ExecContext(t.Context(), "INSERT INTO n VALUES (1)"); err == nil {
			t.Error("a later statement")
		}
		if err := tx.Commit(); err == nil {
			t.Error("a commit of nothing")
		}
		_ = conn.Close()
	}
	conn, err := b.DB().Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	tx, err := conn.BeginTx(postgres.LateBegin(t.Context()), nil)
	if err != nil {
		t.Fatal(err)
	}
	_ = conn.Raw(postgres.BreakBegin)
	rows, err := tx.QueryContext(t.Context(), b.SQL("inbox_claim"), scope, `{"k"}`, `{"print"}`, "done", 0, 0)
	if err == nil {
		_ = rows.Close()
		t.Error("a claim in a transaction that has not begun")
	}
	_ = tx.Rollback()
	if n := one[int](b, b.db, "SELECT count(*) FROM headrace_inbox"); n != 0 {
		t.Errorf("%d claims were committed", n)
	}
}

// A handler that ended its transaction and began another one is found out before COMMIT, which
// travels with the check: nothing of the other one stays.
//
//evidence:transaction
func TestSwitchedInOneRoundTrip(t *testing.T) {
	b := overPgx(t)
	event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", Payload: []byte("{}")})
	for name, events := range map[string][]outbox.Row{"without": nil, "with": {event}} {
		x, _, p := b.handler(name, true)
		for _, query := range []string{"COMMIT", "BEGIN", "INSERT INTO n VALUES (1)"} {
			if _, err := p.Conn().Exec(t.Context(), query); err != nil {
				t.Fatal(err)
			}
		}
		if err := b.Commit(t.Context(), x, events); !errors.Is(err, inbox.ErrSwitched) {
			t.Errorf("%s events: %v", name, err)
		}
		if got := b.numbers(); got != "" {
			t.Errorf("%s events: committed %s", name, got)
		}
	}
	if n := one[int](b, b.db, "SELECT count(*) FROM headrace_outbox"); n != 0 {
		t.Errorf("%d events", n)
	}
}

// A transaction makes two round trips beside those of its handler.
func TestRoundTrips(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	p, through := newProxy(t, b.dsn)
	b.Store = connect(t, "pool", through, postgres.Options{Schema: b.schema})
	event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", Payload: []byte("{}")})
	trips := func(key string) int {
		before := p.sent.Load()
		x := b.begin()
		b.claim(x, inbox.ClaimRequest{}, key)
		if err := b.Commit(t.Context(), x, []outbox.Row{event}); err != nil {
			t.Fatal(err)
		}
		return int(p.sent.Load() - before)
	}
	trips("first") // prepares
	if n := trips("second"); n != 2 {
		t.Errorf("%d round trips", n)
	}
}

// Events that the server refuses roll everything back, and the connection goes on.
func TestEventsRefusedInOneRoundTrip(t *testing.T) {
	b := overPgx(t)
	b.exec("ALTER TABLE headrace_outbox ADD CONSTRAINT none CHECK (topic <> 'none')")
	x, _, p := b.handler("k", false)
	backend := one[int](b, x, "SELECT pg_backend_pid()")
	if _, err := p.Exec(t.Context(), "INSERT INTO n VALUES (1)"); err != nil {
		t.Fatal(err)
	}
	err := b.Commit(t.Context(), x, []outbox.Row{outbox.RowOf(headrace.Event{ID: "1", Topic: "none", Payload: []byte("{}")})})
	if err == nil || errors.Is(err, txn.ErrCommitUnknown) || errors.Is(err, inbox.ErrSwitched) {
		t.Errorf("Commit: %v", err)
	}
	if got := b.numbers(); got != "" {
		t.Errorf("committed %s", got)
	}
	y := b.begin()
	if got := b.claim(y, inbox.ClaimRequest{}, "k")[0]; got.Result != inbox.Won {
		t.Errorf("%+v", got)
	}
	if again := one[int](b, y, "SELECT pg_backend_pid()"); again != backend {
		t.Error("the connection was thrown away")
	}
	y.Rollback()
}

// The transaction of one message begins one goroutine, database/sql's: not one for the claim.
func TestOneGoroutineForATransaction(t *testing.T) {
	t.Run("pool", func(t *testing.T) { oneGoroutine(t, overPgx(t)) })
	t.Run("open", func(t *testing.T) { oneGoroutine(t, setup(t, "open", "", postgres.Options{})) })
}

func oneGoroutine(t *testing.T, b *bundle) {
	run := func(key string) {
		x, err := b.Begin(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer x.Rollback()
		claims := []inbox.Claim{{ID: inbox.ID{Scope: scope, Key: key}, Fingerprint: "print"}}
		won, err := b.Inbox().Claim(t.Context(), x, inbox.ClaimRequest{Claims: claims, LockTimeout: time.Second, Unguarded: true})
		if err != nil || won[0].Result != inbox.Won || x.ID() == "" {
			t.Fatalf("%+v, transaction %q, %v", won, x.ID(), err)
		}
		if err := b.Commit(t.Context(), x, nil); err != nil {
			t.Fatal(err)
		}
	}
	const name, n = "/sched/goroutines-created:goroutines", 20
	sample := []metrics.Sample{{Name: name}}
	created := func() uint64 { metrics.Read(sample); return sample[0].Value.Uint64() }
	run("first")
	before := created()
	for i := range n {
		run(strconv.Itoa(i))
	}
	if got := created() - before; got > n+n/2 { // others of the test's process may begin some
		t.Errorf("%d goroutines for %d transactions", got, n)
	}
}
