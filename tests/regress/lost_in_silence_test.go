package regress

import (
	"context"
	"slices"
	"testing"

	"github.com/headrace/headrace"
)

// A handler may lose the connection without noticing, and return nil, each time that it
// runs. The message that runs next finds out. It is not blamed, however often it comes
// behind such a neighbour.
//
// Without that it spent its attempts, and became a dead letter.
//
//evidence:neighbours lost-connection
func TestConnectionLostInSilence(t *testing.T) {
	t.Parallel()
	onEachWay(t, onPostgres, everyWay, func(f *fixture, w way) {
		culprits, n := []string{"m2", "m5"}, 8
		others := slices.DeleteFunc(series("m", n), func(id string) bool { return slices.Contains(culprits, id) })
		var seen runs
		config := f.configOf(w)
		config.Concurrency, config.Retry = 1, attempts(4)
		_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			seen.next(m.ID)
			var session int
			err := tx.QueryRowContext(ctx, "INSERT INTO effects (msg, n) VALUES ($1, $2) RETURNING pg_backend_pid()", m.ID, m.Body.N).Scan(&session)
			if err == nil && slices.Contains(culprits, m.ID) {
				endSession(f, session)
			}
			return err
		})
		f.acked(all...)
		f.appliedOnce(others...)
		f.eventually("the culprits are dead", func() bool { return f.allEnded(culprits) })
		for _, id := range culprits {
			if len(f.attempts(id)) != 4 || f.effects(id) != 0 || seen.of(id) > 48 {
				f.Errorf("%s has %d attempts, %d effects and %d runs", id, len(f.attempts(id)), f.effects(id), seen.of(id))
			}
		}
	})
}
