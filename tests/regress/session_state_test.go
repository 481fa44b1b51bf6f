package regress

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/inbox"
)

// ownTransaction are the ways in which a handler shares its transaction with no other, and
// may change settings of it.
var ownTransaction = []way{
	alone,
	{name: "alone from the backlog", handle: func(c *consumer.Consumer, f consumer.Func[body]) {
		consumer.Handle(c, topic, f, consumer.Alone(), consumer.Intake())
	}},
	leased,
}

// newRole makes a role that may use the table of effects and no other.
func newRole(f *fixture) string {
	f.Helper()
	role := strings.Replace(f.schema, "test", "role", 1)
	f.exec("CREATE ROLE " + role + " NOLOGIN")
	f.Cleanup(func() {
		f.exec("DROP OWNED BY " + role)
		f.exec("DROP ROLE " + role)
	})
	f.exec(fmt.Sprintf("GRANT USAGE ON SCHEMA %s TO %s", f.schema, role))
	f.exec("GRANT ALL ON effects TO " + role)
	return role
}

// A handler with a transaction of its own may change the role or a setting. They are
// restored before the store's statements, and the message is applied. A transaction that
// can only read stays so: the message has failed, up to its dead letter. Other messages go
// on meanwhile.
//
// Without that the failure was taken for an outage of the database: the message was run
// again without end and without an attempt, and the consumer waited with it.
//
//evidence:session
func TestHandlerChangesItsTransaction(t *testing.T) {
	t.Parallel()
	for _, change := range []struct {
		name      string
		statement func(*fixture) string
		ends      inbox.State
	}{
		{"role", func(f *fixture) string { return "SET LOCAL ROLE " + newRole(f) }, inbox.Done},
		{"statement_timeout", func(*fixture) string { return "SET LOCAL statement_timeout = 1" }, inbox.Done},
		{"read only", func(*fixture) string { return "SET TRANSACTION READ ONLY" }, inbox.Dead},
	} {
		t.Run(change.name, func(t *testing.T) {
			onEachWay(t, onPostgres, ownTransaction, func(f *fixture, w way) {
				checkChange(f, w, change.statement(f), change.ends)
			})
		})
	}
}

func checkChange(f *fixture, w way, change string, ends inbox.State) {
	const culprit = "culprit"
	config := f.configOf(w)
	config.Retry = attempts(2)
	began, once := make(chan struct{}), new(sync.Once)
	var seen runs
	c := f.consumer(f.st, config)
	w.handle(c, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
		if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
			return err
		}
		seen.next(culprit)
		once.Do(func() { close(began) })
		if _, err := tx.ExecContext(ctx, change); err != nil {
			return err
		}
		// Large enough to take the database more than a millisecond.
		return tx.Publish(headrace.Event{Topic: "invoices", Payload: bytes.Repeat([]byte("x"), 4<<20)})
	})
	f.start(c)
	f.deliver(culprit, 1)
	f.await("the message runs", began)
	for i, id := range series("m", 20) {
		f.deliver(id, i)
	}
	f.appliedOnce(series("m", 20)...)
	f.eventually("the message is applied or dead", func() bool { return f.ended(culprit) })
	effects, failed := f.effects(culprit), len(f.attempts(culprit))
	if f.state(culprit) != ends {
		f.Errorf("the message is %s after %d attempts, want %s", f.state(culprit), failed, ends)
	}
	switch f.state(culprit) {
	case inbox.Done:
		if effects != 1 || seen.of(culprit) > failed+3 {
			f.Errorf("done: %d effects, %d runs, %d attempts", effects, seen.of(culprit), failed)
		}
	case inbox.Dead:
		if effects != 0 || failed != config.Retry.MaxAttempts || len(f.letters()) != 1 || seen.of(culprit) > 3*failed {
			f.Errorf("dead: %d effects, %d runs, %d attempts, %d letters", effects, seen.of(culprit), failed, len(f.letters()))
		}
	}
}

// set_config changes a setting as SET does. A handler that shares its transaction is
// refused it, in whatever form the call is written.
//
// Without that the next handler of the batch saw the setting, and read another tenant's
// rows.
//
//evidence:session
func TestSetConfigIsRefusedInABatch(t *testing.T) {
	t.Parallel()
	for how, query := range map[string]string{
		"for the transaction":  "SELECT set_config('app.tenant', $1, true)",
		"for the session":      "select pg_catalog.set_config('app.tenant', $1, false)",
		"behind a comment":     "SELECT Set_Config /* for row security */ ('app.tenant', $1, true)",
		"in quotes":            `SELECT "set_config"('app.tenant', $1, true)`,
		"in a WITH":            "WITH t AS (SELECT set_config('app.tenant', $1, true) AS s) SELECT s FROM t",
		"among values":         "INSERT INTO settings (value) VALUES (set_config('app.tenant', $1, true)) RETURNING value",
		"in another statement": "UPDATE settings SET value = '' WHERE false; SELECT set_config('app.tenant', 'acme', true)",
	} {
		t.Run(how, func(t *testing.T) {
			onPostgres(t, func(f *fixture) {
				f.exec("CREATE TABLE settings (value TEXT)")
				result := make(chan error, 10)
				_, all := together(f, f.consumer(f.st, f.config()), inBatch, 2, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					if m.ID == "m0" {
						var set string
						args := []any{"acme"}[:strings.Count(query, "$1")]
						result <- tx.QueryRowContext(ctx, query, args...).Scan(&set)
						return nil // the refusal counts, even if its error is passed over
					}
					return insertTenant(ctx, tx, m)
				})
				f.acked(all...)
				f.eventually("both end", func() bool { return f.allEnded(series("m", 2)) })
				if err := <-result; !errors.Is(err, headrace.ErrForbidden) {
					f.Errorf("set_config in a batch: %v", err)
				}
				if f.state("m0") != inbox.Dead {
					f.Errorf("the message is %s", f.state("m0"))
				}
				if n := f.count("SELECT count(*) FROM effects WHERE msg = 'm1' AND tenant = ''"); n != 1 {
					f.Error("the next handler of the batch sees the setting")
				}
			})
		})
	}
}

// insertTenant is insert with the tenant that the handler sees.
func insertTenant(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
	const query = "INSERT INTO effects (msg, n, tenant) VALUES ($1, $2, coalesce(current_setting('app.tenant', true), ''))"
	_, err := tx.ExecContext(ctx, query, m.ID, m.Body.N)
	return err
}

// A handler with a transaction of its own may call set_config for that transaction.
func TestSetConfigIsAllowedAlone(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(f *fixture) {
		_, all := together(f, f.consumer(f.st, f.configOf(alone)), alone, 2, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == "m0" {
				if _, err := tx.ExecContext(ctx, "SELECT set_config('app.tenant', $1, true)", "acme"); err != nil {
					return err
				}
			}
			return insertTenant(ctx, tx, m)
		})
		f.acked(all...)
		f.appliedOnce("m0", "m1")
		if n := f.count("SELECT count(*) FROM effects WHERE tenant = CASE msg WHEN 'm0' THEN 'acme' ELSE '' END"); n != 2 {
			f.Errorf("%d of 2 handlers saw their own tenant", n)
		}
	})
}

// A statement that names set_config without a call of it is allowed.
func TestSetConfigAsTextIsNoCall(t *testing.T) {
	t.Parallel()
	for where, query := range map[string]string{
		"in a string":  "SELECT 'set_config(' || $1::text",
		"in a comment": "SELECT $1::text -- set_config('a', 'b', true)",
		"as a column":  "SELECT $1::text AS set_config",
		"in a name":    "SELECT my_set_config($1)",
	} {
		t.Run(where, func(t *testing.T) {
			onPostgres(t, func(f *fixture) {
				f.exec("CREATE FUNCTION my_set_config(t text) RETURNS text LANGUAGE sql AS 'SELECT t'")
				c := f.consumer(f.st, f.config())
				consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					var text string
					if err := tx.QueryRowContext(ctx, query, "acme").Scan(&text); err != nil {
						return err
					}
					return insert(ctx, tx, m)
				})
				f.start(c)
				f.acked(f.deliver("m", 1))
				f.appliedOnce("m")
			})
		})
	}
}
