package regress

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/headrace/headrace"
)

// atCommit makes PostgreSQL run a PL/pgSQL statement at the COMMIT of the message.
func atCommit(f *fixture, id, statement string) {
	f.Helper()
	f.exec("CREATE FUNCTION at_commit() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN " + statement + "; RETURN NULL; END $$")
	f.exec(fmt.Sprintf(`CREATE CONSTRAINT TRIGGER at_commit AFTER INSERT ON effects DEFERRABLE INITIALLY DEFERRED
		FOR EACH ROW WHEN (NEW.msg = '%s') EXECUTE FUNCTION at_commit()`, id))
}

// A message whose COMMIT always loses its connection has a limit: after a few reruns it
// spends attempts, and it ends as a dead letter. Its neighbours are applied.
//
// Without that it was run again without end, and spent no attempt.
//
//evidence:commit-bound
func TestCommitAlwaysLosesItsConnection(t *testing.T) {
	t.Parallel()
	onEachWay(t, onPostgres, everyWay, func(f *fixture, w way) {
		const culprit, n = "m3", 10
		atCommit(f, culprit, "PERFORM pg_terminate_backend(pg_backend_pid())")
		config := f.configOf(w)
		config.Retry = attempts(2)
		var seen runs
		_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			seen.next(m.ID)
			return insert(ctx, tx, m)
		})
		f.acked(all...)
		f.appliedOnce(neighbours(n, culprit)...)
		f.deadAfter(culprit, &seen, 2)
	})
}

// A message that always gets a serialization failure has a limit as well, and there is a
// pause between its runs, in which the other transaction can end.
//
// Without that it was run again at once.
//
//evidence:commit-bound
func TestSerializationFailureIsBounded(t *testing.T) {
	t.Parallel()
	const code = "40001"
	for when, fails := range map[string]bool{"at its statement": true, "at its COMMIT": false} {
		t.Run(when, func(t *testing.T) {
			onEachWay(t, onPostgres, everyWay, func(f *fixture, w way) {
				const culprit, n = "m3", 10
				raise := "RAISE EXCEPTION USING ERRCODE = '" + code + "', MESSAGE = 'could not serialize access'"
				if !fails {
					atCommit(f, culprit, raise)
				}
				config := f.configOf(w)
				config.Retry = attempts(2)
				var seen, retried runs
				_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					if seen.next(m.ID); m.Attempt > 1 {
						retried.next(m.ID)
					}
					if err := insert(ctx, tx, m); err != nil || m.ID != culprit || !fails {
						return err
					}
					_, err := tx.ExecContext(ctx, "DO $$ BEGIN "+raise+"; END $$")
					return err
				})
				f.acked(all...)
				f.appliedOnce(neighbours(n, culprit)...)
				f.deadAfter(culprit, &seen, 2)
				checkPauses(f, culprit, &retried)
			})
		})
	}
}

// leastPause is a little shorter than the first pause before a rerun, and longer than the
// backlog takes to run a row that is due at once.
const leastPause = 45 * time.Millisecond

// checkPauses checks that there was a pause between the runs of a message. It looks at the
// last attempt only: before that, a rerun at once may tell it from its neighbours.
func checkPauses(f *fixture, id string, seen *runs) {
	f.Helper()
	at := seen.times(id)
	for i := 1; i < len(at); i++ {
		if pause := at[i].Sub(at[i-1]); pause < leastPause {
			f.Errorf("run %d of the last attempt of %s came %s after the one before", i+1, id, pause)
		}
	}
}
