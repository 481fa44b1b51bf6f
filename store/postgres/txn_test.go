package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/pgtest/pgstore"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// DESIGN §3 Claim: explicit READ COMMITTED. A nil option would inherit the default,
// and a new holder of a shard would see rows that are gone.
//
//evidence:isolation
func TestReadCommittedWhateverTheDefault(t *testing.T) {
	for _, driver := range []string{"open", "pool", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b := setup(t, driver, "&default_transaction_isolation=repeatable%20read", postgres.Options{})
			x := b.begin()
			if level := one[string](b, x, "SHOW transaction_isolation"); level != "read committed" {
				t.Errorf("isolation %q", level)
			}
			// And what another transaction commits in the middle is seen: the claim does
			// not wait here, and the loser finds the row.
			other := b.begin()
			b.claim(other, inbox.ClaimRequest{}, "k")
			if err := b.Commit(t.Context(), other, nil); err != nil {
				t.Fatal(err)
			}
			if got := b.claim(x, inbox.ClaimRequest{}, "k")[0]; got.Result != inbox.Lost || got.Entry.State != inbox.Done {
				t.Errorf("claimed %+v", got)
			}
		})
	}
}

// DESIGN §3 Claim: the timeout of a group's claim never reaches a handler, not even
// where the session has one of its own, and whether or not a single claim is won.
//
//evidence:session
func TestLockTimeoutDoesNotLeak(t *testing.T) {
	for _, driver := range []string{"open", "pool", "pgx"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b := setup(t, driver, "&lock_timeout=7s", postgres.Options{})
			holder := b.begin()
			b.claim(holder, inbox.ClaimRequest{}, "held")
			done := b.begin()
			b.claim(done, inbox.ClaimRequest{}, "done")
			if err := b.Commit(t.Context(), done, nil); err != nil {
				t.Fatal(err)
			}
			r := inbox.ClaimRequest{LockTimeout: 20 * time.Millisecond, Limits: txn.Limits{Idle: 90 * time.Second}}
			for _, c := range []struct {
				name string
				keys []string
				want []inbox.Result
			}{
				{"all won", []string{"b", "a"}, []inbox.Result{inbox.Won, inbox.Won}},
				{"one busy", []string{"z", "held", "c"}, []inbox.Result{inbox.Won, inbox.Busy, inbox.Won}},
				{"single", []string{"d"}, []inbox.Result{inbox.Won}},
				{"single, lost", []string{"done"}, []inbox.Result{inbox.Lost}},
			} {
				x := b.begin()
				for i, got := range b.claim(x, r, c.keys...) {
					if got.Result != c.want[i] {
						t.Errorf("%s: %s is %v", c.name, c.keys[i], got.Result)
					}
				}
				if v := one[string](b, x, "SHOW lock_timeout"); v != "7s" {
					t.Errorf("%s: lock_timeout is %s", c.name, v)
				}
				if v := one[string](b, x, "SHOW idle_in_transaction_session_timeout"); v != "90s" && v != "1min30s" && v != "90000ms" {
					t.Errorf("%s: idle timeout is %s", c.name, v)
				}
				if id := one[string](b, x, "SELECT pg_current_xact_id()::text"); id != x.ID() {
					t.Errorf("%s: the id is %q, and %q was remembered", c.name, id, x.ID())
				}
				x.Rollback()
				next := b.begin()
				if v := one[string](b, next, "SHOW idle_in_transaction_session_timeout"); v != "0" {
					t.Errorf("%s: the next transaction has idle timeout %s", c.name, v)
				}
				next.Rollback()
			}
		})
	}
}

// All keys of a group busy: the settings of the claims go with their savepoints, and
// the transaction has its idle timeout and its id all the same.
//
//evidence:busy
func TestAllBusy(t *testing.T) {
	b := setup(t, "open", "", postgres.Options{})
	holder := b.begin()
	b.claim(holder, inbox.ClaimRequest{}, "a", "b")
	x := b.begin()
	got := b.claim(x, inbox.ClaimRequest{LockTimeout: time.Millisecond, Limits: txn.Limits{Idle: time.Second}}, "a", "b")
	if got[0].Result != inbox.Busy || got[1].Result != inbox.Busy {
		t.Errorf("%+v", got)
	}
	if v := one[string](b, x, "SHOW idle_in_transaction_session_timeout"); v != "1s" {
		t.Errorf("idle timeout is %s", v)
	}
	if err := b.Commit(t.Context(), x, nil); err != nil {
		t.Error(err)
	}
}

// DESIGN §3 Judge: a terminated backend is a lost connection, for
// either driver, and the next transaction has another one.
//
//evidence:lost-connection
func TestTerminatedBackend(t *testing.T) {
	drivers(t, func(b *bundle) {
		x := b.begin()
		b.exec("SELECT pg_terminate_backend($1)", one[int](b, x, "SELECT pg_backend_pid()"))
		var err error
		for txn.Classify(err) != txn.Connection { // the signal takes its time
			if _, err = x.ExecContext(b.Context(), "SELECT 1"); err == nil && b.Context().Err() != nil {
				b.Fatal("the backend lives")
			}
			if err != nil && txn.Classify(err) != txn.Connection {
				b.Fatalf("class %s: %v", txn.Classify(err), err)
			}
		}
		x.Rollback()
		y := b.begin()
		if _, err := y.ExecContext(b.Context(), "SELECT 1"); err != nil {
			b.Error(err)
		}
	})
}

// A server that restarts leaves a pool of dead connections. None of them may cost a
// Begin.
func TestIdleConnectionsThatEnded(t *testing.T) {
	drivers(t, func(b *bundle) {
		if b.DB().Stats().MaxOpenConnections > 0 {
			b.DB().SetMaxIdleConns(b.DB().Stats().MaxOpenConnections)
		}
		var all []*txn.Txn
		for range 5 {
			x := b.begin()
			all = append(all, x)
		}
		for _, x := range all {
			pid := one[int](b, x, "SELECT pg_backend_pid()")
			x.Rollback()
			// With a timeout the function waits until the backend has gone (PostgreSQL 14).
			b.exec("SELECT pg_terminate_backend($1, 10000)", pid)
		}
		for n := range 5 {
			x := b.begin()
			if n%2 == 0 {
				b.claim(x, inbox.ClaimRequest{}, fmt.Sprint(n))
			} else if _, err := x.ExecContext(b.Context(), "SELECT 1"); err != nil {
				b.Error(err)
			}
		}
	})
}

// A commit whose server has gone before COMMIT was sent is no commit. It is not called unknown where
// the statement before it found out. On the store's own connections and on a pool that statement travels with
// COMMIT, and what a pooler says in the server's place proves nothing.
func TestCommitAfterTermination(t *testing.T) {
	drivers(t, func(b *bundle) {
		x := b.begin()
		b.claim(x, inbox.ClaimRequest{}, "k")
		b.exec("SELECT pg_terminate_backend($1, 10000)", one[int](b, x, "SELECT pg_backend_pid()"))
		err := b.Commit(b.Context(), x, nil)
		inOne := strings.HasSuffix(b.Name(), "/pool") || strings.HasSuffix(b.Name(), "/open")
		if txn.Classify(err) != txn.Connection || errors.Is(err, txn.ErrCommitUnknown) != inOne || errors.Is(err, txn.ErrRolledBack) {
			b.Errorf("%v", err)
		}
		y := b.begin()
		if got := b.claim(y, inbox.ClaimRequest{}, "k")[0]; got.Result != inbox.Won {
			b.Errorf("%+v", got)
		}
	})
}

// TRAPS, Databases: 25P02 with a nil handler result: the commit must fail, whether
// the transaction was claimed in or not, with events or without.
//
//evidence:passed-over
func TestCommitOfAnAbortedTransaction(t *testing.T) {
	drivers(t, func(b *bundle) {
		event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", Payload: []byte("{}")})
		for _, claimed := range []bool{true, false} {
			for _, events := range [][]outbox.Row{nil, {event}} {
				x := b.begin()
				if claimed {
					b.claim(x, inbox.ClaimRequest{}, "k")
				}
				if _, err := x.ExecContext(b.Context(), "SELECT 1/0"); err == nil {
					b.Fatal("no error")
				}
				if err := b.Commit(b.Context(), x, events); !errors.Is(err, txn.ErrRolledBack) {
					b.Errorf("claimed %v, %d events: %v", claimed, len(events), err)
				}
			}
		}
	})
}

// What COMMIT itself fails with is told apart from the failure of the statement that travels in front of it,
// whatever its code is.
func TestCommitThatFailsLikeTheStatementBeforeIt(t *testing.T) {
	drivers(t, func(b *bundle) {
		for _, statement := range []string{
			"CREATE TABLE %[1]s.late (id int)",
			"CREATE FUNCTION %[1]s.late() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'too late' USING ERRCODE = '22P02'; END $$",
			"CREATE CONSTRAINT TRIGGER late AFTER INSERT ON %[1]s.late DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION %[1]s.late()",
		} {
			b.exec(fmt.Sprintf(statement, b.schema))
		}
		x := b.begin()
		b.claim(x, inbox.ClaimRequest{}, "k")
		if _, err := x.ExecContext(b.Context(), fmt.Sprintf("INSERT INTO %s.late VALUES (1)", b.schema)); err != nil {
			b.Fatal(err)
		}
		err := b.Commit(b.Context(), x, nil)
		if !errors.Is(err, txn.ErrRolledBack) || errors.Is(err, inbox.ErrSwitched) || !strings.Contains(err.Error(), "too late") {
			b.Errorf("%v", err)
		}
		if got := b.claim(b.begin(), inbox.ClaimRequest{}, "k")[0]; got.Result != inbox.Won {
			b.Errorf("%+v", got)
		}
	})
}

// TRAPS, Databases: lib/pq's Commit ignores its context and hangs on a cut
// connection. The outcome is unknown, the connection goes away, and a claim finds
// out what happened.
//
//evidence:refused
func TestCutCommit(t *testing.T) {
	for _, c := range []struct {
		name string
		cut  func(*proxy)
		want inbox.Result
	}{
		{"COMMIT lost", func(p *proxy) { p.lose("COMMIT\x00") }, inbox.Won},
		{"answer lost", func(p *proxy) { p.loseAnswers("COMMIT\x00") }, inbox.Lost},
	} {
		for _, driver := range []string{"open", "pool", "pgx"} {
			t.Run(c.name+"/"+driver, func(t *testing.T) {
				t.Parallel()
				b := setup(t, "open", "", postgres.Options{})
				p, through := newProxy(t, b.dsn)
				o := postgres.Options{Schema: b.schema}
				if driver == "pool" { // COMMIT has its name in the message that runs it
					through, o.StatementCache = through+"&default_query_exec_mode=exec", -1
				}
				s := connect(t, driver, through, o)
				cut := &bundle{T: t, Store: s}
				s.SetCommitTimeout(time.Second)
				x := cut.begin()
				cut.claim(x, inbox.ClaimRequest{Limits: txn.Limits{Idle: 2 * time.Second}}, "k")
				c.cut(p)
				within(t, 10*time.Second, "Commit", func() {
					if err := s.Commit(t.Context(), x, nil); !errors.Is(err, txn.ErrCommitUnknown) {
						t.Errorf("Commit: %v", err)
					}
				})
				within(t, 10*time.Second, "COMMIT", func() { <-p.swallows })
				within(t, 10*time.Second, "Close", func() { _ = s.Close() })
				if driver == "open" && s.Links() != 0 {
					t.Errorf("%d connections are still known", s.Links())
				}
				// The server ends the transaction that hears no more (IdleTimeout), or has
				// committed it: the claim waits for either.
				if got := b.claim(b.begin(), inbox.ClaimRequest{}, "k")[0]; got.Result != c.want {
					t.Errorf("%+v", got)
				}
			})
		}
	}
}

// Store.Ping: within ctx, on a connection that works, although those of the pool
// were cut.
func TestPingPastCutConnections(t *testing.T) {
	dsn, schema := pgstore.New(t)
	p, through := newProxy(t, dsn)
	s := open(t, through, postgres.Options{Schema: schema, Migrate: true})
	b := &bundle{T: t, Store: s}
	var idle []*txn.Txn
	for range 5 {
		idle = append(idle, b.begin())
	}
	for _, x := range idle {
		x.Rollback()
	}
	p.cut()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := s.Ping(ctx); err != nil {
		t.Error(err)
	}
	if ctx.Err() != nil {
		t.Error("Ping took all of its time")
	}
}

// Store.Ping: an error within ctx where nothing answers.
func TestPingWithoutServer(t *testing.T) {
	dsn, schema := pgstore.New(t)
	p, through := newProxy(t, dsn)
	s := open(t, through, postgres.Options{Schema: schema, Migrate: true})
	p.close()
	within(t, 10*time.Second, "Ping", func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if err := s.Ping(ctx); txn.Classify(err) != txn.Connection && !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%v", err)
		}
	})
}

// Rows that are left open give the connection the answers to earlier statements: then no
// statement may run on it, and it does not go back to the pool.
//
//evidence:open-rows
func TestAliveWithOpenRows(t *testing.T) {
	drivers(t, func(b *bundle) {
		x := b.begin()
		backend := one[int](b, x, "SELECT pg_backend_pid()")
		s := x.Savepoint("suite")
		if err := errors.Join(s.Set(b.Context()), x.Alive(b.Context())); err != nil {
			b.Fatal(err)
		}
		statement, err := x.PrepareContext(b.Context(), "SELECT n FROM generate_series(1, 5000) AS n WHERE n > $1")
		if err != nil {
			b.Fatal(err)
		}
		rows, err := statement.QueryContext(b.Context(), 3)
		if err != nil || !rows.Next() {
			b.Fatal(err)
		}
		_ = s.RollbackTo(b.Context()) // lib/pq takes the end of the rows for the answer
		if err := x.Alive(b.Context()); !errors.Is(err, txn.ErrUnusable) {
			b.Errorf("alive: %v", err)
		}
		if err := s.RollbackTo(b.Context()); !errors.Is(err, txn.ErrUnusable) {
			b.Errorf("a statement afterwards: %v", err)
		}
		x.Rollback()
		if again := one[int](b, b.begin(), "SELECT pg_backend_pid()"); again == backend {
			b.Error("the connection went back to the pool")
		}
	})
}
