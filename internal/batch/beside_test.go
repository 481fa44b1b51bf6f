package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// interrupted is a store whose first commit is refused; then another process works.
type interrupted struct {
	*enginetest.Store
	other func()
}

func (s *interrupted) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	other := s.other
	if s.other = nil; other == nil {
		return s.Store.Commit(ctx, t, events)
	}
	t.Rollback()
	other()
	return errors.Join(txn.ErrRolledBack, enginetest.ErrBoom)
}

// DESIGN §3 Order: a commit is refused, and another process has the shard before the smaller
// parts run. It applies some messages, one fails, and those behind that one are blocked.
// The first part finds the failed one alone, applies it, and so releases the others: the
// second part must not run its own before those that the first did not find.
//
//evidence:strict
func TestStrictOrderBesideAnotherProcess(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		h := strict(counted("orders", &runs, never))
		failing := strict(counted("orders", new(enginetest.Runs), func(key string, _ int) error {
			if key == "m5" {
				return retry.Postpone(time.Hour, enginetest.ErrBoom)
			}
			return nil
		}))
		keys := enginetest.Keys("m", 40)
		take(f.Engine(nil), h, "k", keys...)
		other := f.EngineOn(f.Open(), nil)
		st := &interrupted{Store: f.Store, other: func() {
			other.WorkOff(other.Worker(failing)) // m0 to m4, and m6 to m39 are blocked
			day := "interval '1 day'"
			if f.SQLite {
				day = "86400000000"
			}
			f.Exec("UPDATE headrace_backlog SET due_at = due_at - " + day + " WHERE status = 'delayed'")
			f.In(func(t *txn.Txn) error {
				n, err := f.Store.Backlog().Promote(f.Context(), t, enginetest.Consumer, 10)
				if n != 1 {
					f.Errorf("%d rows are due", n)
				}
				return err
			})
		}}
		e := f.Engine(func(o *batch.Options) { o.Store = st })
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, keys...)
		order := runs.Order()
		if got := order[max(0, len(order)-35):]; !slices.Equal(got, keys[5:]) { // the last runs are those that count
			f.Errorf("order %v", got)
		}
	})
}
