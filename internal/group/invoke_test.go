package group

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// batchFailure is a BatchFailure, as the consumer's BatchError is.
type batchFailure map[int]error

func (b batchFailure) Error() string           { return "batch" }
func (b batchFailure) FailedAt() map[int]error { return b }

// Context: it has the values of the delivery and a deadline, and the end of the
// delivery's own context does not end it.
func TestHandlersContext(t *testing.T) {
	type key struct{}
	r := newRig(t, func(ctx context.Context, _ *headrace.Tx, _ string) error {
		deadline, ok := ctx.Deadline()
		if !ok || time.Until(deadline) > time.Minute || ctx.Value(key{}) != "value" || ctx.Err() != nil {
			return retry.Permanent(errBoom)
		}
		return nil
	})
	ctx, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "value"))
	r.after = func(call string) error {
		if strings.HasPrefix(call, "claim") {
			cancel()
		}
		return nil
	}
	task := r.task("m")
	task.Context = ctx
	r.e.process([]*Task{task})
	want(t, "ends", r.ended(), "m applied")
}

// Cancelled is not failed: after the drain time whatever a driver makes of the
// cancellation is no attempt.
func TestCancelledIsNotFailed(t *testing.T) {
	for name, err := range map[string]error{"cancelled": context.Canceled, "statement cancelled": sqlState("57014"), "other words": errBoom} {
		t.Run(name, func(t *testing.T) {
			var r *rig
			r = newRig(t, func(ctx context.Context, _ *headrace.Tx, _ string) error {
				r.stop()
				r.cut()
				<-ctx.Done()
				return err
			})
			want(t, "again", keysOf(r.e.process(r.tasks("m"))), "m")
			want(t, "attempts", r.attempts("m"), 0)
			want(t, "ends", r.ended(), "")
		})
	}
}

// The same where a batch handler does not say which it meant.
func TestCancelledBatchIsNotFailed(t *testing.T) {
	r := newRig(t, nil)
	runs := 0
	r.h.Batch = true
	r.h.Run = func(ctx context.Context, _ *headrace.Tx, inputs []Input) error {
		runs++
		r.stop()
		r.cut()
		<-ctx.Done()
		return ctx.Err()
	}
	want(t, "again", keysOf(r.e.process(r.tasks("a", "b"))), "a,b")
	want(t, "runs", runs, 1)
	want(t, "attempts", r.attempts("a")+r.attempts("b"), 0)
}

// An expired attempt is a timeout and an attempt, whatever a driver makes of it.
func TestExpiredAttemptIsATimeout(t *testing.T) {
	for _, err := range []error{errLost, sqlState("57P01"), deadlock} {
		r := newRig(t, func(ctx context.Context, _ *headrace.Tx, _ string) error {
			<-ctx.Done()
			return err
		})
		r.h.Timeout = time.Millisecond
		want(t, "ends", r.process("m"), "m waiting")
		want(t, "attempts", strings.Join(r.calls("attempt"), ";"), "attempt m timeout")
		want(t, "pings", len(r.calls("ping")), 1)
		want(t, "claims", len(r.calls("claim")), 1)
	}
}

// INVARIANTS 11: a database that gives no answer looks like a handler that is too slow,
// and spends no attempt.
func TestTimeoutOfASilentStoreIsNoAttempt(t *testing.T) {
	runs := 0
	r := newRig(t, func(context.Context, *headrace.Tx, string) error {
		runs++
		return context.DeadlineExceeded
	})
	r.fail = times(1, "ping", errLost)
	want(t, "to be given back", keysOf(r.e.process(r.tasks("m"))), "m")
	want(t, "attempts", r.attempts("m"), 0)
	want(t, "gate closed", r.hooks("gate false"), 1)

	l := r.line("l")
	r.fail = times(1, "ping", errLost)
	_, err := l.Work(t.Context(), theShard, 0)
	want(t, "outage", errors.As(err, new(outage)), true)
	want(t, "attempts", r.attempts("l"), 0)
	r.work(l)
	want(t, "attempts of one whose store answers", r.attempts("l"), 1)
}

// A handler that goes on after its deadline is left behind: of a group nobody but
// itself is run after that, its Tx is closed, and it is a timeout of its own.
func TestLeftBehind(t *testing.T) {
	goOn, used := make(chan struct{}), make(chan error, 1)
	var s script
	r := newRig(t, func(ctx context.Context, tx *headrace.Tx, key string) error {
		if key == "b" && !slices.Contains(s.runs, "b") {
			s.runs = append(s.runs, key)
			<-goOn
			_, err := tx.ExecContext(context.WithoutCancel(ctx), "SELECT 1")
			used <- err
			return nil
		}
		if key == "b" {
			return errBoom
		}
		return nil
	})
	r.h.Timeout, r.o.Grace = 5*time.Millisecond, 5*time.Millisecond
	end := r.process("a")
	want(t, "ends", end, "a applied")
	task := r.task("b")
	again := r.e.process([]*Task{task})
	want(t, "again", len(again), 0)
	want(t, "attempt", strings.Join(r.calls("attempt"), ";"), "attempt b timeout")
	want(t, "told", r.hooks("stuck")*10+r.hooks("returned"), 10)
	close(goOn)
	if err := <-used; !errors.Is(err, headrace.ErrTxDone) {
		t.Errorf("its Tx: %v", err)
	}
	r.o.Handlers.Wait()
	want(t, "told after it came back", r.hooks("returned"), 1)
}

// What a left-behind handler was in company of is not run by its goroutine later.
func TestLeftBehindRunsNothingMore(t *testing.T) {
	goOn, second := make(chan struct{}), make(chan struct{}, 2)
	r := newRig(t, func(_ context.Context, _ *headrace.Tx, key string) error {
		if key == "a" {
			<-goOn
			return nil
		}
		second <- struct{}{}
		return nil
	})
	r.h.Timeout, r.o.Grace = 5*time.Millisecond, 5*time.Millisecond
	tx, err := r.Store.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	out := r.e.invoke(tx, r.tasks("a", "b"))
	tx.Discard()
	if !out.abandoned || len(out.failures) != 1 || !errors.Is(out.failures[0].err, ErrStuck) || out.failures[0].task.Delivery.Key != "a" {
		t.Errorf("got %+v", out)
	}
	close(goOn)
	r.o.Handlers.Wait()
	want(t, "runs of the second", len(second), 0)
}

// A batch that hangs does not say whose it was.
func TestLeftBehindBatchIsRunSingly(t *testing.T) {
	goOn := make(chan struct{})
	r := newRig(t, nil)
	r.h.Batch = true
	r.h.Timeout, r.o.Grace = 5*time.Millisecond, 5*time.Millisecond
	r.h.Run = func(_ context.Context, _ *headrace.Tx, inputs []Input) error {
		if len(inputs) > 1 {
			<-goOn
		}
		return nil
	}
	want(t, "ends", r.process("a", "b"), "a applied, b applied")
	want(t, "attempts", len(r.calls("attempt")), 0)
	close(goOn)
}

// Handlers after the first failure of a group are not run.
func TestGroupStopsAtTheFirstFailure(t *testing.T) {
	s := script{errs: map[string][]error{"a": {errBoom}}}
	r := newRig(t, s.run)
	r.process("a", "b")
	want(t, "runs", s.order(), "a b")
}

// BatchError: out of range, empty and without a reason.
func TestBatchFailures(t *testing.T) {
	for _, c := range []struct {
		name string
		err  error
		want string
	}{
		{"one of them", fmt.Errorf("wrapped: %w", batchFailure{1: errBoom}), "b waiting, a applied"},
		{"without a reason", batchFailure{1: nil}, "b waiting, a applied"},
		{"out of range", batchFailure{7: errBoom, -1: errBoom}, "a applied, b applied"},
		{"empty", batchFailure{}, "a applied, b applied"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, nil)
			r.h.Batch = true
			r.h.Run = func(_ context.Context, _ *headrace.Tx, inputs []Input) error {
				if len(inputs) > 1 {
					return c.err
				}
				return nil
			}
			want(t, "ends", r.process("a", "b"), c.want)
			if strings.HasPrefix(c.want, "b") {
				want(t, "attempt", strings.Join(r.calls("attempt"), ";"), "attempt b transient")
			}
		})
	}
	t.Run("of one", func(t *testing.T) {
		r := newRig(t, nil)
		r.h.Batch = true
		r.h.Run = func(context.Context, *headrace.Tx, []Input) error {
			return batchFailure{0: retry.After(time.Hour, errBoom)}
		}
		r.process("a")
		list, err := r.Store.Inbox().Attempts(t.Context(), r.task("a").ID())
		if err != nil || len(list) != 1 || !strings.HasPrefix(list[0].Error, "boom") {
			t.Errorf("the attempt holds %+v, %v", list, err)
		}
	})
}

// unsound is an error whose methods panic: that of a nil pointer.
type unsound struct{ inner error }

func (u *unsound) Error() string { return u.inner.Error() }
func (u *unsound) Unwrap() error { return u.inner }

// Fault 5: an error whose methods panic is a failure of the message, not the end of
// the process.
func TestUnsoundErrorIsContained(t *testing.T) {
	for name, err := range map[string]error{"error": (*unsound)(nil), "of a batch": batchFailure{0: (*unsound)(nil)}} {
		t.Run(name, func(t *testing.T) {
			s := script{errs: map[string][]error{"m": {err}}}
			r := newRig(t, s.run)
			want(t, "ends", r.process("m", "n"), "m waiting, n applied")
			want(t, "attempt", strings.Join(r.calls("attempt"), ";"), "attempt m panic")
		})
	}
}

// Each run has an input of its own, and a codec that panics on the second run does
// not end the process.
func TestEachRunHasItsOwnBody(t *testing.T) {
	var bodies []any
	decoded := 0
	r := newRig(t, nil)
	r.h.Decode = func(*headrace.Delivery) (any, error) {
		if decoded++; decoded > 1 {
			panic("codec")
		}
		return "fresh", nil
	}
	r.h.Policy.Immediate = 2
	r.h.Run = func(_ context.Context, _ *headrace.Tx, inputs []Input) error {
		bodies = append(bodies, inputs[0].Body)
		if len(bodies) < 3 {
			return errBoom
		}
		return nil
	}
	want(t, "ends", r.process("m"), "m applied")
	want(t, "bodies", fmt.Sprint(bodies), "[body fresh body]")
}

// Events carry the trace of the message that they came from.
func TestEventsCarryTheTrace(t *testing.T) {
	r := newRig(t, func(_ context.Context, tx *headrace.Tx, _ string) error {
		return tx.Publish(headrace.Event{Topic: "t", Payload: []byte("p")})
	})
	a, b := r.task("a"), r.task("b")
	a.Delivery.Trace.Parent, b.Delivery.Trace.Parent = "pa", "pb"
	var traces []string
	r.spy.Store = committing{r.spy.Store, func(events []outbox.Row) {
		for _, row := range events {
			traces = append(traces, row.Event.Trace.Parent)
		}
	}}
	r.e.process([]*Task{a, b})
	want(t, "traces", strings.Join(traces, " "), "pa pb")
}

type committing struct {
	Store
	saw func([]outbox.Row)
}

func (c committing) Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error {
	c.saw(events)
	return c.Store.Commit(ctx, t, events)
}

// Fault 7 at a stop: once the drain time is over, a handler that ignores its context has
// a grace and not the rest of its own deadline; its message failed in nobody's eyes and
// is given back.
func TestStopLeavesAHandlerBehind(t *testing.T) {
	for _, batch := range []bool{false, true} {
		t.Run(fmt.Sprintf("batch %t", batch), func(t *testing.T) {
			goOn := make(chan struct{})
			r := newRig(t, nil)
			r.h.Batch = batch
			r.h.Timeout, r.o.Grace = time.Hour, 5*time.Millisecond
			r.h.Run = func(context.Context, *headrace.Tx, []Input) error {
				r.stop()
				r.cut()
				<-goOn
				return nil
			}
			tasks := r.tasks("a", "b")
			ended := make(chan []*Task)
			go func() { ended <- r.e.process(tasks) }()
			select {
			case again := <-ended:
				want(t, "to be given back", len(again), 2)
			case <-time.After(20 * time.Second):
				t.Error("it is waited for")
			}
			want(t, "attempts", len(r.calls("attempt")), 0)
			want(t, "told", r.hooks("stuck"), 1)
			close(goOn)
			r.o.Handlers.Wait()
		})
	}
}
