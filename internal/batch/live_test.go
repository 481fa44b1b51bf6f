package batch_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/execute"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
)

// outcomeOf fails the test unless a message has one outcome, this one.
func outcomeOf(e *enginetest.Engine, key string, want ...task.Outcome) {
	e.F.Helper()
	if got := e.Outcomes(key); !slices.Equal(got, want) {
		e.F.Errorf("%s: outcomes %v, want %v", key, got, want)
	}
}

// What the inbox knows is not run again: duplicates, and keys of other messages, whose
// letters stand beside what is applied.
func TestClaimsThatAreLost(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, never)
		e.Deliver(h, "m0", "m1")
		tasks := e.Tasks(h, "m0", "m1", "m2")
		tasks[1].Delivery.Fingerprint = "other"
		e.ProcessAll(tasks)
		outcomeOf(e, "m0", task.Applied, task.Duplicate)
		outcomeOf(e, "m1", task.Applied, task.Conflict)
		outcomeOf(e, "m2", task.Applied)
		f.AppliedOnce(h, "m0", "m1", "m2")
		letters := f.Letters()
		if len(letters) != 1 || letters[0].Class != dlq.Conflict || letters[0].FirstFingerprint != "f" || letters[0].Delivery.Fingerprint != "other" {
			f.Errorf("letters %+v", letters)
		}
		only := e.Tasks(h, "m2") // a batch that holds nothing else
		only[0].Delivery.Fingerprint = "other"
		e.ProcessAll(only)
		if n := len(f.Letters()); n != 2 {
			f.Errorf("%d letters", n)
		}
		again := e.Tasks(h, "m1") // the same conflict: no second letter
		again[0].Delivery.Fingerprint = "other"
		again[0].Bad = errors.New("no JSON")
		e.ProcessAll(again)
		outcomeOf(e, "m1", task.Applied, task.Conflict, task.Conflict)
		if n := len(f.Letters()); n != 2 || again[0].Letter != nil || tasks[1].Letter.Class != dlq.Conflict {
			f.Errorf("%d letters; said %+v and %+v", n, tasks[1].Letter, again[0].Letter)
		}
	})
}

// An intake puts deliveries into the backlog, runs nothing, and says what became of each.
func TestIntake(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, never)
		h.Intake = true
		e.Deliver(h, "m0")
		tasks := e.Tasks(h, "m0", "m1", "m2", "m3")
		tasks[2].Bad = errors.New("no JSON")
		tasks[0].Delivery.Fingerprint = "other"
		woken := f.Store.Backlog().Signals.C(enginetest.Consumer)
		for len(woken) > 0 {
			<-woken
		}
		e.ProcessAll(tasks)
		outcomeOf(e, "m0", task.Waiting, task.Conflict)
		outcomeOf(e, "m1", task.Waiting)
		outcomeOf(e, "m2", task.Dead)
		outcomeOf(e, "m3", task.Waiting)
		if len(runs.Order()) != 0 || depth(f).Ready != 3 {
			f.Errorf("runs %v, %+v", runs.Order(), depth(f))
		}
		select {
		case <-woken:
		default:
			f.Error("no worker was woken")
		}
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, "m0", "m1", "m3")
	})
}

// Messages of several handlers go into the backlog in one transaction.
func TestIntakeOfSeveralHandlers(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		orders, returns := counted("orders", runs, never), counted("returns", runs, never)
		orders.Intake, returns.Intake = true, true
		before := f.Store.Commits.Load()
		e.ProcessAll(append(e.Tasks(orders, "m0", "m1"), e.Tasks(returns, "m0", "m2")...))
		if n := f.Store.Commits.Load() - before; n != 1 {
			f.Errorf("%d commits", n)
		}
		e.WorkOff(e.Worker(orders, returns))
		f.AppliedOnce(orders, "m1")
		f.AppliedOnce(returns, "m2")
		if f.State(orders, "m0") != inbox.Done || f.State(returns, "m0") != inbox.Done || f.Effects("m0") != 2 {
			f.Errorf("m0 has %d effects of two handlers", f.Effects("m0"))
		}
	})
}

// A delivery whose subscription ended is given back, and not run.
func TestDeliveryOfSomebodyElse(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, never)
		tasks := e.Tasks(h, "m0", "m1")
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		tasks[0].Context = ctx
		e.ProcessAll(tasks)
		outcomeOf(e, "m0", task.Released)
		outcomeOf(e, "m1", task.Applied)
		if runs.Of("m0") != 0 {
			f.Error("it ran")
		}
	})
}

// A handler is given the values of the delivery's context, and a deadline.
func TestContextOfAHandler(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		type key struct{}
		e := f.Engine(nil)
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			end, ok := ctx.Deadline()
			if ctx.Value(key{}) != "value" || !ok || time.Until(end) > time.Minute {
				f.Errorf("value %v, deadline %s", ctx.Value(key{}), end)
			}
			return enginetest.Effect(ctx, tx, in)
		})
		tasks := e.Tasks(h, "m0")
		tasks[0].Context = context.WithValue(context.Background(), key{}, "value")
		e.ProcessAll(tasks)
		f.AppliedOnce(h, "m0")
	})
}

// A handler that is not run because the program is put together wrongly spends no attempt:
// deliveries are given back, and rows stay.
func TestRefusedHandler(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := enginetest.Handler("orders", func(context.Context, *headrace.Tx, task.Input) error {
			return &execute.RefusedError{Reason: errors.New("no router")}
		})
		e.Deliver(h, "m0")
		outcomeOf(e, "m0", task.Released)
		take(e, h, "k", "m1")
		if _, err := e.Worker(h).Work(f.Context(), shardOf, 0); err != nil {
			f.Error(err)
		}
		outcomeOf(e, "m1")
		if f.State(h, "m0") != "" || f.State(h, "m1") != inbox.Waiting || len(e.Failures()) != 0 {
			f.Errorf("%q, %q, %v", f.State(h, "m0"), f.State(h, "m1"), e.Failures())
		}
	})
}

// A handler that ignores its deadline is left behind: its connection is cut, and the
// message has an attempt; the others are applied.
func TestHandlerLeftBehind(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		release := make(chan struct{})
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			runs.Next(in.Delivery.Key)
			if err := enginetest.Effect(ctx, tx, in); err != nil {
				return err
			}
			if in.Delivery.Key == "m5" {
				<-release
				if err := enginetest.Effect(ctx, tx, in); !errors.Is(err, headrace.ErrTxDone) {
					f.Errorf("its Tx can be used: %v", err)
				}
			}
			return nil
		})
		h.Timeout = 500 * time.Millisecond
		e.Deliver(h, enginetest.Keys("m", 8)...)
		close(release)
		dead(f, h, "m5", retry.Timeout)
		// On a busy machine a neighbour meets its own deadline in a statement, and waits.
		w := e.Worker(h)
		f.Eventually("its neighbours end", func() bool { e.Round(w); return depth(f) == backlog.Depth{} })
		f.AppliedOnce(h, "m0", "m4", "m6", "m7")
		if n := runs.Of("m5"); n != 1 {
			f.Errorf("the culprit ran %d times", n)
		}
	})
}

// A batch in which each message loses the connection ends all the same: a neighbour runs as
// often as the batch can be halved.
func TestLostConnections(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		if f.SQLite {
			f.Skip("SQLite has no connection to lose")
		}
		var runs enginetest.Runs
		e := f.Engine(nil)
		killers := []string{"m1", "m3", "m6", "m9", "m13", "m17", "m18", "m22", "m26", "m30"}
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			runs.Next(in.Delivery.Key)
			if err := enginetest.Effect(ctx, tx, in); err != nil {
				return err
			}
			if slices.Contains(killers, in.Delivery.Key) {
				_, err := tx.ExecContext(ctx, "SELECT pg_terminate_backend(pg_backend_pid())")
				return err
			}
			return nil
		})
		keys := enginetest.Keys("m", 32)
		var tasks []*task.Task
		for i, key := range keys {
			tasks = append(tasks, e.Task(h, enginetest.Delivery(h, key, fmt.Sprint("k", i%2))))
		}
		e.ProcessAll(tasks)
		last := map[int]int{0: -1, 1: -1}
		for i, key := range keys { // what is applied is applied in the order of its key
			if slices.Contains(killers, key) {
				continue
			}
			at := lastIndex(runs.Order(), key)
			if at < last[i%2] {
				f.Errorf("%s was overtaken: %v", key, runs.Order())
			}
			last[i%2] = at
		}
		w := e.Worker(h)
		f.Eventually("the killers end", func() bool { e.Round(w); return depth(f) == backlog.Depth{} })
		for _, key := range killers {
			dead(f, h, key, retry.Transient)
			if n := runs.Of(key); n != 3 {
				f.Errorf("%s ran %d times", key, n)
			}
		}
		for _, key := range keys {
			if !slices.Contains(killers, key) {
				f.AppliedOnce(h, key)
				if n := runs.Of(key); n > 6 {
					f.Errorf("%s ran %d times", key, n)
				}
			}
		}
	})
}

// When the drain time is over, what runs is cancelled and nothing is spent; what is left
// comes back.
func TestCut(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			if err := enginetest.Effect(ctx, tx, in); err != nil || in.Delivery.Key != "m2" {
				return err
			}
			e.Stop()
			e.Cut()
			<-ctx.Done()
			return ctx.Err()
		})
		left := e.Process(e.Tasks(h, enginetest.Keys("m", 4)...))
		released := 0
		for _, key := range enginetest.Keys("m", 4) {
			if o := e.Outcomes(key); len(o) > 0 && o[0] == task.Released {
				released++
			}
			if f.State(h, key) != "" || len(f.Attempts(h, key)) != 0 {
				f.Errorf("%s: state %q", key, f.State(h, key))
			}
		}
		if released+len(left) != 4 || len(e.Failures()) != 0 {
			f.Errorf("%d released, %d left, %v", released, len(left), e.Failures())
		}
		if left = e.Process(e.Tasks(h, "n0")); len(left) != 1 {
			f.Errorf("after the end: %v", e.Outcomes("n0"))
		}
	})
}

// While the store is away, deliveries wait; when it serves again, they run. Nothing is
// spent.
func TestOutage(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, never)
		f.Store.Down.Store(true)
		done := make(chan struct{})
		go func() { defer close(done); e.Deliver(h, "m0", "m1") }()
		f.Eventually("the circuit opens", func() bool { return e.Breaker.Err() != nil })
		f.Store.Down.Store(false)
		<-done
		f.AppliedOnce(h, "m0", "m1")
		if len(runs.Order()) != 2 || e.Breaker.Err() != nil {
			f.Errorf("runs %v, breaker %v", runs.Order(), e.Breaker.Err())
		}
	})
}

// Code of the user that ends the goroutine outside of a handler, here a logger, stops the
// consumer with an error.
//
//evidence:panic
func TestGoexitOutsideOfAHandler(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(func(o *batch.Options) { o.Failed = func(*outcome.Failure) { runtime.Goexit() } })
		h := counted("orders", new(enginetest.Runs), always("m"))
		if left := e.Process(e.Tasks(h, "m")); len(left) != 0 || !errors.Is(e.FatalError(), retry.ErrGoexit) {
			f.Errorf("%d left, %v", len(left), e.FatalError())
		}
	})
}
