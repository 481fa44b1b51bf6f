package batch_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// A COMMIT without an answer is resolved by reading: what had happened is not run again.
func TestUnansweredCommitThatHappened(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("live", runs, func(key string, _ int) error {
			switch key {
			case "stale":
				return inbox.ErrStale
			case "dead":
				return enginetest.ErrBoom
			case "later":
				return retry.Postpone(0, enginetest.ErrBoom)
			}
			return nil
		})
		f.Store.Swallow(1)
		e.Deliver(h, "m0", "m1", "stale", "dead", "later")
		f.AppliedOnce(h, "m0", "m1")
		for key, want := range map[string]task.Outcome{"m0": task.Applied, "m1": task.Applied, "stale": task.Stale, "dead": task.Dead, "later": task.Waiting} {
			if o := e.Outcomes(key); len(o) != 1 || o[0] != want {
				f.Errorf("%s: %v, want %v", key, o, want)
			}
		}
		if n := len(e.Failures()); n != 2 {
			f.Errorf("%d failures told, want those that the commit recorded", n)
		}
		before := len(runs.Order())
		f.Store.Swallow(1)
		e.Deliver(h, "single")
		if f.AppliedOnce(h, "single"); len(runs.Order()) != before+1 || e.Outcomes("single")[0] != task.Applied {
			f.Errorf("runs %v, outcomes %v", runs.Order()[before:], e.Outcomes("single"))
		}
	})
}

// The same in the backlog: a row that is gone was dealt with.
func TestUnansweredCommitOfTheBacklog(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		for _, happened := range []bool{true, false} {
			prefix := map[bool]string{true: "happened", false: "lost"}[happened]
			var runs enginetest.Runs
			e := f.Engine(nil)
			h := counted("backlog", &runs, always(prefix+"3"))
			keys := enginetest.Keys(prefix, 5)
			for _, key := range keys { // one shard
				e.PutAll(h, enginetest.Delivery(h, key, "k"))
			}
			if happened {
				f.Store.Swallow(1)
			} else {
				f.Store.Lose(1)
			}
			e.WorkOff(e.Worker(h))
			f.AppliedOnce(h, slices.Delete(slices.Clone(keys), 3, 4)...)
			dead(f, h, prefix+"3", retry.Transient)
			if told, n := len(e.Failures()), runs.Of(prefix+"3"); told != 1 || n != 1 {
				f.Errorf("%s: %d failures told, %d runs of the culprit", prefix, told, n)
			}
			for i, key := range keys {
				want := task.Applied
				if i == 3 {
					want = task.Dead
				}
				if o := e.Outcomes(key); len(o) != 1 || o[0] != want {
					f.Errorf("%s: outcomes %v, want %v", key, o, want)
				}
			}
		}
	})
}

// A row whose failure such a COMMIT recorded is run again as what it is, the next attempt.
func TestUnansweredCommitOfAnAttempt(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("backlog", runs, func(key string, run int) error {
			if key == "m1" && run == 1 {
				return enginetest.ErrBoom
			}
			return nil
		})
		h.Policy = enginetest.Attempts(3)
		take(e, h, "k", "m0", "m1")
		f.Store.Swallow(1)
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, "m0")
		outcomeOf(e, "m0", task.Applied)
		if o := e.Outcomes("m1"); len(o) != 2 || !slices.Contains(o, task.Waiting) || !slices.Contains(o, task.Applied) {
			f.Errorf("m1: outcomes %v", o) // told with the commit of the next run
		}
		if a := f.Attempts(h, "m1"); len(a) != 1 || runs.Of("m1") != 2 || f.Effects("m1") != 1 || len(e.Failures()) != 1 {
			f.Errorf("m1: %d attempts, %d runs, %d effects", len(a), runs.Of("m1"), f.Effects("m1"))
		}
	})
}

// What had not happened is run again, as often as reruns are allowed.
func TestUnansweredCommitThatDidNotHappen(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("live", runs, never)
		f.Store.Lose(2)
		e.Deliver(h, enginetest.Keys("m", 4)...)
		f.AppliedOnce(h, enginetest.Keys("m", 4)...)
		f.Store.Lose(2)
		e.Deliver(h, "single")
		if f.AppliedOnce(h, "single"); runs.Of("single") != 3 {
			f.Errorf("%d runs", runs.Of("single"))
		}
		f.Store.Lose(3)
		e.Deliver(h, "always")
		dead(f, h, "always", retry.Transient)
		if n := runs.Of("always"); n != 3 {
			f.Errorf("a message whose COMMIT is never answered ran %d times", n)
		}
	})
}

// A COMMIT that is refused is the fault of one message: it is found by halves, where the
// database cannot name it.
func TestRefusedCommit(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		if f.SQLite {
			f.Exec("CREATE TABLE parents (id TEXT PRIMARY KEY)")
			f.Exec("CREATE TABLE children (parent TEXT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)")
			if f.Count("PRAGMA foreign_keys") != 1 {
				f.Skip("foreign keys are off")
			}
		} else {
			f.Exec("CREATE TABLE parents (id TEXT PRIMARY KEY)")
			f.Exec("CREATE TABLE children (parent TEXT REFERENCES parents (id) DEFERRABLE INITIALLY DEFERRED)")
		}
		var runs enginetest.Runs
		e := f.Engine(nil)
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			runs.Next(in.Delivery.Key)
			if in.Delivery.Key == "m11" || in.Delivery.Key == "m12" {
				if _, err := tx.ExecContext(ctx, "INSERT INTO children (parent) VALUES ('missing')"); err != nil {
					return err
				}
			}
			return enginetest.Effect(ctx, tx, in)
		})
		keys := enginetest.Keys("m", 32)
		e.Deliver(h, keys...)
		dead(f, h, "m11", retry.Transient)
		dead(f, h, "m12", retry.Transient)
		others := slices.DeleteFunc(keys, func(key string) bool { return key == "m11" || key == "m12" })
		f.AppliedOnce(h, others...)
		for _, key := range others {
			if n := runs.Of(key); n > 2 && !f.SQLite || n > 7 { // SQLite cannot check them one by one
				f.Errorf("%s ran %d times", key, n)
			}
		}
	})
}

// A handler that ended the transaction stops the consumer; nothing is settled.
func TestSwitchedTransaction(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := counted("orders", new(enginetest.Runs), never)
		f.Store.Refuse(1, inbox.ErrSwitched)
		left := e.Process(e.Tasks(h, "m0", "m1"))
		if len(left) != 2 || !errors.Is(e.FatalError(), inbox.ErrSwitched) || len(e.Outcomes("m0")) != 0 || f.State(h, "m0") != "" {
			f.Errorf("%d left, fatal %v, outcomes %v", len(left), e.FatalError(), e.Outcomes("m0"))
		}
	})
}

// A message whose COMMIT always loses against others has its free reruns in the backlog,
// with a pause before each, and then an attempt.
func TestCommitThatAlwaysLoses(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, func(string, int) error {
			f.Store.Refuse(1, errors.Join(txn.ErrRolledBack, conflict{}))
			return nil
		})
		e.Deliver(h, "m0")
		if o := e.Outcomes("m0"); len(o) != 1 || o[0] != task.Waiting || f.State(h, "m0") != inbox.Waiting || len(f.Attempts(h, "m0")) != 0 {
			f.Fatalf("outcomes %v, state %q", o, f.State(h, "m0"))
		}
		if n := h.Pace.Room(64, time.Hour); n != 4 {
			f.Errorf("the next transaction has %d messages", n)
		}
		w := e.Worker(h)
		f.Eventually("the message ends", func() bool { e.Round(w); return f.State(h, "m0") != inbox.Waiting })
		dead(f, h, "m0", retry.Transient)
		if n := runs.Of("m0"); n != 3 {
			f.Errorf("%d runs", n)
		}
		for i, failure := range e.Failures() {
			if pause := failure.Delay; i < 2 && pause != outcome.RerunPause(i) {
				f.Errorf("pause %s before rerun %d", pause, i+1)
			}
		}
		if a, b := outcome.RerunPause(0), outcome.RerunPause(1); a <= 0 || b <= a {
			f.Errorf("pauses %s and %s", a, b)
		}
	})
}

// The effects of leased work are committed once, and its failure is told once, also where
// a COMMIT has no answer.
func TestFinishWithoutAnAnswer(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := leasedHandler("leased")
		e.Put(h, "applied", "failed", "again", "always")
		for _, one := range e.Lease(h, 4) {
			var failure *outcome.Failure
			want := task.Applied
			switch one.Delivery.Key {
			case "applied":
				f.Store.Swallow(1)
			case "failed":
				f.Store.Swallow(1)
				failure, want = &outcome.Failure{Task: one, Err: enginetest.ErrBoom}, task.Dead
			case "again":
				f.Store.Lose(2)
			case "always":
				f.Store.Lose(3)
				want = task.Dead
			}
			one.Effects = headrace.Effects(func(ctx context.Context, tx *headrace.Tx) error {
				return enginetest.Effect(ctx, tx, task.Input{Delivery: one.Delivery})
			})
			if !e.Finish(one, failure) {
				f.Errorf("%s was not finished", one.Delivery.Key)
			}
			if o := e.Outcomes(one.Delivery.Key); len(o) != 1 || o[0] != want {
				f.Errorf("%s: outcomes %v, want %v", one.Delivery.Key, o, want)
			}
		}
		f.AppliedOnce(h, "applied", "again")
		dead(f, h, "failed", retry.Transient)
		dead(f, h, "always", retry.Transient)
		if n := len(e.Failures()); n != 2 {
			f.Errorf("%d failures told", n)
		}
	})
}

// conflict is an error of the database.
type conflict struct{}

func (conflict) Error() string    { return "could not serialize" }
func (conflict) SQLState() string { return "40001" }
