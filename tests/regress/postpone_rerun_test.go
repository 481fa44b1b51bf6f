package regress

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/retry"
)

// A message that is postponed and run again after a deadlock in turn becomes a dead letter
// all the same. Before, each began the other's bound anew: it ran without end, and no
// attempt was recorded.
//
//evidence:commit-bound
func TestPostponedAndRunAgainInTurn(t *testing.T) {
	t.Parallel()
	onPostgres(t, func(f *fixture) {
		config := f.config()
		config.Retry = attempts(2)
		config.Retry.MaxPostpone = time.Second
		var seen runs
		c := f.consumer(f.st, config)
		consumer.Handle(c, topic, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if seen.next(m.ID)%2 == 1 {
				return retry.Postpone(50*time.Millisecond, errors.New("too many requests"))
			}
			_, err := tx.ExecContext(ctx, "DO $$ BEGIN RAISE EXCEPTION 'conflict' USING ERRCODE = '40001'; END $$")
			return err
		})
		f.start(c)
		f.acked(f.deliver("m", 0))
		f.eventually("it is a dead letter", func() bool { return len(f.letters()) == 1 })
	})
}
