package regress

import (
	"context"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
)

// A handler with Alone may change its session for good. No other message may see that: the
// connection is closed after the transaction. Before, other handlers ran under the tenant
// of another message, and after a SET ROLE the consumer waited without end, because its own
// statements had no rights.
//
//evidence:session
func TestSessionOfAnAloneHandlerEnds(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]string{
		"set_config":    "SELECT set_config('app.tenant', 'acme', false)",
		"SET":           "SET app.tenant = 'acme'",
		"role":          "SET ROLE pg_read_all_data",
		"read only":     "SET default_transaction_read_only = on",
		"timeout":       "SET statement_timeout = 1",
		"search path":   "SET search_path = pg_catalog",
		"advisory lock": "SELECT pg_advisory_lock(42)",
		"statements":    "DEALLOCATE ALL",
		"temporary":     "SELECT 'temporary' AS msg, 1 AS n, '' AS tenant INTO TEMP effects",
		"in a block":    "DO $$ BEGIN PERFORM set_config('app.tenant', 'acme', false); END $$",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onPostgres(t, func(f *fixture) {
				f.db.SetMaxOpenConns(2)
				config := f.config()
				config.Concurrency, config.Retry = 1, attempts(1)
				c := f.consumer(f.st, config)
				consumer.Handle(c, "sessions", func(ctx context.Context, tx *headrace.Tx, _ *headrace.Message[body]) error {
					_, err := tx.ExecContext(ctx, query)
					return err
				}, consumer.Alone())
				consumer.Handle(c, topic, insertTenant)
				f.start(c)
				f.acked(f.src.Deliver("sessions", "s", []byte("{}"), nil))
				for i, id := range series("m", 10) {
					f.acked(f.deliver(id, i))
				}
				f.appliedOnce(series("m", 10)...)
				if n := f.count("SELECT count(*) FROM effects WHERE tenant = 'acme'"); n > 0 {
					f.Errorf("%d messages of another handler had the tenant", n)
				}
				if n := f.count("SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 42 AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"); n > 0 && name == "advisory lock" {
					f.Error("the lock is still held")
				}
				f.noLetters()
			})
		})
	}
}
