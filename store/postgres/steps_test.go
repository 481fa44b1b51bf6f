package postgres_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// leased makes the message key, and row 1 of the backlog under a lease.
func (b *bundle) leased(key string) (inbox.ID, backlog.Lease) {
	b.Helper()
	return b.leasedRow(1, key)
}

// leasedRow is leased for another row of the backlog.
func (b *bundle) leasedRow(row int64, key string) (inbox.ID, backlog.Lease) {
	b.Helper()
	b.exec("INSERT INTO headrace_inbox (scope, key, state, fingerprint) VALUES ($1, $2, 'waiting', '')", scope, key)
	b.exec(`INSERT INTO headrace_backlog (id, place, consumer, shard, status, due_at, handler, scope, key, order_key, strict, message_id, topic,
			metadata, coordinates, trace_parent, trace_state, attempt, spent, reruns, letter_id, redrives, reply_topic, token)
		VALUES ($3, $3, 'billing', 0, 'leased', now() + interval '1 hour', 'orders.paid', $1, $2, '', false, 'm', 't', '', '{}', '', '', 1, 0, 0, 0, 0, '', 'mine')`, scope, key, row)
	return inbox.ID{Scope: scope, Key: key}, backlog.Lease{RowID: row, Token: "mine"}
}

// changes are the statements that must survive a crash, for one step.
func (b *bundle) changes(key string) (ledger.Row, []func(context.Context) (bool, error)) {
	b.Helper()
	id, l := b.leased(key)
	r := ledger.Row{ID: id, Step: "pay", System: "bank", State: ledger.Pending, CallID: "1"}
	again, done := r, r
	again.CallID, done.CallID, done.Via = "2", "2", ledger.ViaCall
	steps := b.Operations().Steps
	return r, []func(context.Context) (bool, error){
		func(ctx context.Context) (bool, error) { return steps.Mark(ctx, l, r) },
		func(ctx context.Context) (bool, error) { return steps.Repeat(ctx, l, r, again) },
		func(ctx context.Context) (bool, error) { return steps.RecordDone(ctx, done) },
	}
}

// seeDurability keeps, for each change of a step, the setting that its COMMIT sees: that of a
// deferred trigger.
func (b *bundle) seeDurability() {
	b.Helper()
	b.exec("CREATE TABLE seen (n serial, setting text, xid bigint DEFAULT txid_current())")
	b.exec("CREATE FUNCTION see() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN INSERT INTO seen (setting) VALUES (current_setting('synchronous_commit')); RETURN NULL; END $$")
	b.exec("CREATE CONSTRAINT TRIGGER see AFTER INSERT OR UPDATE ON headrace_steps DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION see()")
}

// The mark of a step and its result survive a crash of the server, where the database does
// not promise it for each commit. A stronger setting stays (LEDGER rule 8).
//
//evidence:ledger
func TestStepsAreDurable(t *testing.T) {
	for setting, want := range map[string]string{"off": "on", "local": "on", "on": "on", "remote_apply": "remote_apply"} {
		for _, driver := range []string{"open", "pool", "pgx", "postgres"} {
			t.Run(setting+"/"+driver, func(t *testing.T) {
				t.Parallel()
				b := setup(t, driver, "&synchronous_commit="+setting, postgres.Options{})
				b.seeDurability()
				_, changes := b.changes("m")
				for i, change := range changes {
					if changed, err := change(b.Context()); err != nil || !changed {
						b.Fatalf("statement %d: %t, %v", i, changed, err)
					}
				}
				if got := one[string](b, b.db, "SELECT string_agg(setting, ' ' ORDER BY n) FROM seen"); got != fmt.Sprint(want, " ", want, " ", want) {
					b.Errorf("synchronous_commit is %s, want %s each time where it was %s", got, want, setting)
				}
			})
		}
	}
}

// So do marks and results that share a commit.
//
//evidence:ledger
func TestSharedStepsAreDurable(t *testing.T) {
	for setting, want := range map[string]string{"off": "on", "remote_apply": "remote_apply"} {
		for _, driver := range []string{"open", "pgx"} {
			t.Run(setting+"/"+driver, func(t *testing.T) {
				t.Parallel()
				b := setup(t, driver, "&synchronous_commit="+setting, postgres.Options{})
				b.seeDurability()
				id, l := b.leased("m")
				firstID, first := b.leasedRow(2, "first")
				steps := b.Operations().Steps
				b.shared("marks", want, "SELECT FROM headrace_backlog WHERE id = 2 FOR UPDATE", func(n int) (bool, error) {
					r := ledger.Row{ID: id, Step: fmt.Sprint("step ", n), System: "bank", State: ledger.Pending, CallID: "1"}
					if n == 0 {
						r.ID = firstID
						return steps.Mark(b.Context(), first, r)
					}
					return steps.Mark(b.Context(), l, r)
				})
				b.shared("results", want, "SELECT FROM headrace_steps WHERE key = 'first' FOR UPDATE", func(n int) (bool, error) {
					r := ledger.Row{ID: id, Step: fmt.Sprint("step ", n), CallID: "1", Via: ledger.ViaCall}
					if n == 0 {
						r.ID = firstID
					}
					return steps.RecordDone(b.Context(), r)
				})
			})
		}
	}
}

// shared makes changes of steps that share a commit: the first waits for what lock locks, and
// the others for the first. It fails the test unless each commit has the setting wanted.
func (b *bundle) shared(what, want, lock string, change func(n int) (bool, error)) {
	b.Helper()
	b.exec("TRUNCATE seen")
	other, err := b.db.BeginTx(b.Context(), nil)
	b.must("begin", err)
	defer func() { _ = other.Rollback() }()
	_, err = other.ExecContext(b.Context(), lock)
	b.must("lock", err)
	var all sync.WaitGroup
	run := func(n int) {
		all.Go(func() {
			if changed, err := change(n); err != nil || !changed {
				b.Errorf("%s %d: %t, %v", what, n, changed, err)
			}
		})
	}
	run(0)
	b.waiting("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE $1")
	for n := range 12 {
		run(n + 1)
	}
	time.Sleep(20 * time.Millisecond) // so that they are likely to wait for the first
	b.must("unlock", other.Rollback())
	all.Wait()
	if got := one[string](b, b.db, "SELECT string_agg(DISTINCT setting, ' ') FROM seen"); got != want {
		b.Errorf("%s: synchronous_commit is %s, want %s", what, got, want)
	}
	if n := one[int](b, b.db, "SELECT count(DISTINCT xid) FROM seen"); n == 13 {
		b.Errorf("%s: no two have shared a commit", what)
	}
}

// A login whose transactions are read only or serializable by default marks and records
// all the same, each time under what headrace relies on.
func TestStepsUnderDefaultsOfTheLogin(t *testing.T) {
	for _, params := range []string{"&default_transaction_read_only=on", "&default_transaction_isolation=serializable", "&default_transaction_isolation=repeatable+read"} {
		for _, driver := range []string{"open", "postgres"} {
			t.Run(params[1:]+"/"+driver, func(t *testing.T) {
				t.Parallel()
				b := setup(t, driver, params, postgres.Options{})
				r, changes := b.changes("m")
				other, err := b.db.BeginTx(b.Context(), nil) // it makes the first statement wait, and then fail
				b.must("begin", err)
				_, err = other.ExecContext(b.Context(), "UPDATE headrace_backlog SET due_at = due_at + interval '1 hour'")
				b.must("extend", err)
				time.AfterFunc(50*time.Millisecond, func() { _ = other.Commit() })
				for i, change := range changes {
					if changed, err := change(b.Context()); err != nil || !changed {
						b.Fatalf("statement %d: %t, %v", i, changed, err)
					}
				}
				if rows, err := b.Operations().Steps.List(b.Context(), r.ID); err != nil || len(rows) != 1 || rows[0].State != ledger.Done {
					b.Errorf("%+v, %v", rows, err)
				}
			})
		}
	}
}

// On a frozen network a mark and a record end with their context, and it is not known what has
// become of them.
//
//evidence:frozen-stop
func TestFrozenSteps(t *testing.T) {
	for _, driver := range []string{"open", "pool", "pgx", "postgres"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b, p := frozenStore(t, driver)
			_, changes := b.changes("m")
			p.Freeze()
			for i, change := range changes {
				ended(t, fmt.Sprint("statement ", i), func(ctx context.Context) error {
					_, err := change(ctx)
					if !errors.Is(err, txn.ErrCommitUnknown) {
						t.Errorf("%v", err)
					}
					return err
				})
			}
			p.Thaw()
			within(t, 10*time.Second, "Close", func() { _ = b.Close() })
		})
	}
}

// After a restart of the server a mark finds a connection that works among those of the
// pool, which have ended.
func TestStepsPastDeadConnections(t *testing.T) {
	drivers(t, func(b *bundle) {
		_, changes := b.changes("m")
		var all []*txn.Txn
		for range 4 {
			x := b.begin()
			_ = one[int](b, x, "SELECT 1")
			all = append(all, x)
		}
		pids := make([]int, len(all))
		for i, x := range all {
			pids[i] = one[int](b, x, "SELECT pg_backend_pid()")
		}
		for _, x := range all {
			x.Rollback()
		}
		for _, pid := range pids {
			b.exec("SELECT pg_terminate_backend($1)", pid)
		}
		for i, change := range changes {
			if changed, err := change(b.Context()); err != nil || !changed {
				b.Fatalf("statement %d: %t, %v", i, changed, err)
			}
		}
	})
}

// A statement that the server cancels has changed nothing, and says so.
func TestStepRolledBack(t *testing.T) {
	drivers(t, func(b *bundle) {
		_, changes := b.changes("m")
		other, err := b.db.BeginTx(b.Context(), nil)
		b.must("begin", err)
		defer func() { _ = other.Rollback() }()
		_, err = other.ExecContext(b.Context(), "SELECT FROM headrace_backlog FOR UPDATE")
		b.must("lock", err)
		stop := make(chan struct{})
		go func() {
			defer close(stop)
			for {
				n := 0
				_ = b.db.QueryRow("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND query LIKE '%'||$1||'%headrace_steps%'", b.schema).Scan(&n)
				if n > 0 {
					return
				}
			}
		}()
		_, err = changes[0](b.Context())
		<-stop
		if !errors.Is(err, txn.ErrRolledBack) {
			b.Errorf("%v", err)
		}
	})
}
