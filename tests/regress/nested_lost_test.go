package regress

import (
	"context"
	"testing"

	"github.com/headrace/headrace"
)

// loseConnection ends the session of the transaction that is open.
func loseConnection(f *fixture) {
	f.Helper()
	const query = `SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
		WHERE application_name = $1 AND state = 'idle in transaction' AND pid <> pg_backend_pid()`
	var n int
	if err := f.db.QueryRow(query, f.schema).Scan(&n); err != nil {
		f.Error(err)
	}
}

// A handler may begin with Nested. If the connection is lost before that, the message has
// not failed, and neither have its neighbours: all are applied, without an attempt.
//
// Without that the error of the savepoint was taken for the handler's own, since no
// statement of it had run. One lost connection made dead letters of a whole batch.
//
//evidence:lost-connection
func TestConnectionLostBeforeNested(t *testing.T) {
	t.Parallel()
	onEachWay(t, onPostgres, everyWay, func(f *fixture, w way) {
		const n = 10
		var seen runs
		config := f.configOf(w)
		config.Concurrency = 1
		_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == "m3" && seen.next(m.ID) == 1 {
				loseConnection(f)
			}
			return tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m) })
		})
		f.acked(all...)
		f.appliedOnce(series("m", n)...)
		f.noLetters()
	})
}
