package regress

import (
	"context"
	"testing"

	"github.com/headrace/headrace"
)

// loseConnection ends the session of the transaction in which a handler runs that has had
// no statement. That session has claimed a message: the tasks in the background, whose
// sessions must live, only look at the inbox.
func loseConnection(f *fixture) {
	f.Helper()
	const query = `SELECT pid FROM pg_stat_activity WHERE application_name = $1 AND state = 'idle in transaction' AND pid IN
		(SELECT pid FROM pg_locks WHERE relation = 'headrace_inbox'::regclass AND mode = 'RowExclusiveLock')`
	var session int
	if err := f.db.QueryRow(query, f.schema).Scan(&session); err != nil {
		f.Error(err)
	}
	endSession(f, session)
}

// endSession ends a session of the database, and waits until it is gone.
func endSession(f *fixture, session int) {
	f.Helper()
	var gone bool
	if err := f.db.QueryRow("SELECT pg_terminate_backend($1, 10000)", session).Scan(&gone); err != nil || !gone {
		f.Errorf("session %d is gone: %t, %v", session, gone, err)
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
