package postgres_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/lib/pq"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/postgres"
	"github.com/headrace/headrace/store/txn"
)

// role makes a role of the cluster without any right, for as long as the test runs.
func role(b *bundle, suffix string) string {
	b.Helper()
	name := pq.QuoteIdentifier(b.schema + suffix)
	b.exec("CREATE ROLE " + name)
	b.Cleanup(func() { _, _ = b.db.Exec("DROP OWNED BY " + name + "; DROP ROLE " + name) })
	return name
}

// records writes what a failure writes, and reads a row with every kind of column.
func records(b *bundle, x *txn.Txn) {
	b.Helper()
	id := inbox.ID{Scope: scope, Key: "k"}
	_, err := b.Inbox().AddAttempts(b.Context(), x, []inbox.Attempt{{ID: id, Class: "permanent", Error: "not an №"}})
	b.must("add attempts", err)
	if got := b.claim(x, inbox.ClaimRequest{}, "k")[0]; got.Result != inbox.Lost || time.Since(got.Entry.At).Abs() > time.Hour {
		b.Errorf("claimed %+v", got)
	}
	d := headrace.Delivery{Scope: scope, Key: "later", OrderKey: "o", Fingerprint: "print", Payload: []byte(`a\b`)}
	b.must("put", b.Backlog().Put(b.Context(), x, []backlog.Item{{Consumer: "billing", Handler: "orders.paid", Delivery: d}}))
	items, err := b.Backlog().Read(b.Context(), x, backlog.ReadRequest{
		Consumer: "billing", Shard: shard.Of("o"), Limit: 1, Bytes: 100, Handlers: []string{"orders.paid"},
	})
	b.must("read", err)
	if len(items) != 1 || string(items[0].Delivery.Payload) != `a\b` {
		b.Errorf("read %+v", items)
	}
	event := outbox.RowOf(headrace.Event{ID: "1", Topic: "t", Payload: []byte("{}")})
	b.must("insert", b.Outbox().Insert(b.Context(), x, []outbox.Row{event}))
}

// After Restore our statements run, whatever the handler has set for its transaction:
// each of these would break one of them, or let it run into a limit.
//
//evidence:session
func TestRestore(t *testing.T) {
	drivers(t, func(b *bundle) {
		bare := role(b, "_bare")
		for _, set := range []string{
			"SET LOCAL ROLE " + bare,
			"SET LOCAL SESSION AUTHORIZATION " + bare,
			"SET LOCAL statement_timeout = '1min'",
			"SET LOCAL datestyle = 'German'",
			"SET LOCAL bytea_output = 'escape'",
			"SET LOCAL client_encoding = 'LATIN1'",
			"SET LOCAL synchronous_commit = off",
			"SET LOCAL search_path = nowhere",
			"SET LOCAL timezone = 'Asia/Kathmandu'",
			"SET LOCAL intervalstyle = 'sql_standard'",
		} {
			x := b.begin()
			b.claim(x, inbox.ClaimRequest{}, "k")
			before := b.settings(x)
			if _, err := x.SQL().ExecContext(b.Context(), set); err != nil {
				b.Fatalf("%s: %v", set, err)
			}
			b.must(set, x.Restore(b.Context()))
			records(b, x)
			if after := b.settings(x); after != before {
				b.Errorf("%s: the settings are %s, and were %s", set, after, before)
			}
			b.must(set+": commit", b.Commit(b.Context(), x, nil))
			if attempts, err := b.Inbox().Attempts(b.Context(), inbox.ID{Scope: scope, Key: "k"}); err != nil || len(attempts) != 1 || attempts[0].Error != "not an №" {
				b.Errorf("%s: attempts %+v, %v", set, attempts, err)
			}
			b.exec("TRUNCATE " + pq.QuoteIdentifier(b.schema) + ".headrace_inbox, " + pq.QuoteIdentifier(b.schema) + ".headrace_attempts, " +
				pq.QuoteIdentifier(b.schema) + ".headrace_backlog, " + pq.QuoteIdentifier(b.schema) + ".headrace_outbox")
		}
	})
}

// settings are those that Restore is about.
func (b *bundle) settings(x *txn.Txn) string {
	b.Helper()
	return one[string](b, x, `SELECT concat_ws(' ', current_user, session_user, current_setting('statement_timeout'),
		current_setting('lock_timeout'), current_setting('synchronous_commit'),
		current_setting('idle_in_transaction_session_timeout'))`)
}

// Restore keeps what the session had before the claim, and the limits of the claim.
func TestRestoreKeepsTheSession(t *testing.T) {
	for _, driver := range []string{"open", "pool"} {
		t.Run(driver, func(t *testing.T) {
			t.Parallel()
			b := setup(t, driver, "&lock_timeout=7s", postgres.Options{})
			rights, bare := role(b, "_rights"), role(b, "_bare")
			schema := pq.QuoteIdentifier(b.schema)
			b.exec("GRANT USAGE ON SCHEMA " + schema + " TO " + rights)
			b.exec("GRANT ALL ON ALL TABLES IN SCHEMA " + schema + " TO " + rights)
			b.exec("GRANT ALL ON ALL SEQUENCES IN SCHEMA " + schema + " TO " + rights)
			b.DB().SetMaxOpenConns(1)
			if _, err := b.DB().ExecContext(t.Context(), "SET ROLE "+rights); err != nil {
				t.Fatal(err)
			}
			x := b.begin()
			limits := txn.Limits{Idle: 20 * time.Second, Statement: 10 * time.Second}
			b.claim(x, inbox.ClaimRequest{LockTimeout: time.Second, Limits: limits}, "k", "l")
			before := b.settings(x)
			for _, set := range []string{"SET LOCAL ROLE " + bare, "SET LOCAL statement_timeout = 1000", "SET LOCAL lock_timeout = 1"} {
				if _, err := x.SQL().ExecContext(t.Context(), set); err != nil {
					t.Fatal(err)
				}
			}
			b.must("restore", x.Restore(t.Context()))
			if after := b.settings(x); after != before || !strings.Contains(after, " 10s 7s ") || !strings.HasPrefix(after, b.schema+"_rights ") {
				t.Errorf("the settings are %s, and were %s", after, before)
			}
			records(b, x)
			b.must("commit", b.Commit(t.Context(), x, nil))
			next := b.begin()
			if after := b.settings(next); !strings.Contains(after, "_rights postgres 0 7s ") {
				t.Errorf("the next transaction has %s", after)
			}
		})
	}
}

// txn.Limits: each statement that takes a right to work sets them for its transaction, and
// none raises the limit that the role has.
//
//evidence:abandoned server-limits
func TestLimits(t *testing.T) {
	limits := txn.Limits{Idle: 40 * time.Second, Statement: 20 * time.Second}
	for _, c := range []struct{ params, want string }{
		{"", "40s 20s"},
		{"&statement_timeout=5s", "40s 5s"},
		{"&statement_timeout=1h", "40s 20s"},
		{"&statement_timeout=900ms&idle_in_transaction_session_timeout=1d", "40s 900ms"},
	} {
		for _, driver := range []string{"open", "pool"} {
			t.Run(driver+c.params, func(t *testing.T) {
				t.Parallel()
				b := setup(t, driver, "", postgres.Options{})
				b.Store = connect(t, driver, b.dsn+c.params, postgres.Options{Schema: b.schema})
				row := leased(b)
				for name, take := range map[string]func(x *txn.Txn, l txn.Limits) (bool, error){
					"claim one": func(x *txn.Txn, l txn.Limits) (bool, error) {
						return true, claimErr(b, x, inbox.ClaimRequest{Limits: l}, "1")
					},
					"claim two": func(x *txn.Txn, l txn.Limits) (bool, error) {
						return true, claimErr(b, x, inbox.ClaimRequest{LockTimeout: time.Second, Limits: l}, "1", "2")
					},
					"shard": func(x *txn.Txn, l txn.Limits) (bool, error) {
						return b.Backlog().LockShard(b.Context(), x, "billing", 3, l)
					},
					"fence": func(x *txn.Txn, l txn.Limits) (bool, error) {
						return b.Backlog().Leases.Fence(b.Context(), x, row, l)
					},
				} {
					var before, after string
					for _, l := range []txn.Limits{{}, limits} {
						x := b.begin()
						before = b.limits(x)
						if ok, err := take(x, l); !ok || err != nil {
							t.Fatalf("%s: %v %v", name, ok, err)
						}
						after = b.limits(x)
						x.Rollback()
						if l == (txn.Limits{}) && after != before {
							t.Errorf("%s without limits: %s, and %s before", name, after, before)
						}
					}
					if after != c.want {
						t.Errorf("%s: %s, want %s", name, after, c.want)
					}
				}
			})
		}
	}
}

func (b *bundle) limits(x *txn.Txn) string {
	return one[string](b, x, "SELECT concat_ws(' ', current_setting('idle_in_transaction_session_timeout'), current_setting('statement_timeout'))")
}

func claimErr(b *bundle, x *txn.Txn, r inbox.ClaimRequest, keys ...string) error {
	for _, key := range keys {
		r.Claims = append(r.Claims, inbox.Claim{ID: inbox.ID{Scope: scope, Key: key}, Fingerprint: "print"})
	}
	_, err := b.Inbox().Claim(b.Context(), x, r)
	return err
}

// leased is the lease of a new row.
func leased(b *bundle) backlog.Lease {
	b.Helper()
	x := b.begin()
	d := headrace.Delivery{Scope: scope, Key: "leased", Fingerprint: "print"}
	b.must("put", b.Backlog().Put(b.Context(), x, []backlog.Item{{Consumer: "billing", Handler: "orders.paid", Delivery: d}}))
	b.must("move to leased", b.Backlog().Leases.MoveToLeased(b.Context(), x, []int64{1}))
	items, err := b.Backlog().Leases.Claim(b.Context(), x, "billing", "orders.paid", "token", time.Hour, 1)
	if err != nil || len(items) != 1 {
		b.Fatalf("%v %v", items, err)
	}
	b.must("commit", b.Commit(b.Context(), x, nil))
	return backlog.Lease{RowID: items[0].RowID, Token: "token"}
}

// A COMMIT that the server cancels (57014, of severity ERROR) is rolled back; one whose
// session ends (57P01, FATAL) may have happened.
//
//evidence:refused
func TestCommitThatIsCancelled(t *testing.T) {
	drivers(t, func(b *bundle) {
		schema := pq.QuoteIdentifier(b.schema)
		b.exec("CREATE FUNCTION " + schema + ".slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN NULL; END $$")
		b.exec("CREATE TABLE " + schema + ".slow (n integer)")
		b.exec("CREATE CONSTRAINT TRIGGER slow AFTER INSERT ON " + schema + ".slow DEFERRABLE INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION " + schema + ".slow()")
		for _, c := range []struct {
			name, end string
			want      error
		}{
			{"cancelled", "SELECT pg_cancel_backend($1)", txn.ErrRolledBack},
			{"terminated", "SELECT pg_terminate_backend($1)", txn.ErrCommitUnknown},
		} {
			x := b.begin()
			b.claim(x, inbox.ClaimRequest{}, c.name)
			if _, err := x.ExecContext(b.Context(), "INSERT INTO "+schema+".slow VALUES (1)"); err != nil {
				b.Fatal(err)
			}
			pid := one[int](b, x, "SELECT pg_backend_pid()")
			committed := make(chan error, 1)
			go func() { committed <- b.Commit(b.Context(), x, nil) }()
			for one[string](b, b.db, "SELECT coalesce(wait_event, '') FROM pg_stat_activity WHERE pid = $1", pid) != "PgSleep" {
				time.Sleep(time.Millisecond)
			}
			b.exec(c.end, pid)
			err := <-committed
			if !errors.Is(err, c.want) {
				b.Errorf("%s: %v", c.name, err)
			}
			var ofPQ *pq.Error
			var ofPGX *pgconn.PgError
			if c.want == txn.ErrRolledBack && !errors.As(err, &ofPQ) && !errors.As(err, &ofPGX) {
				b.Errorf("%s: the server's error is not in %v", c.name, err)
			}
		}
	})
}
