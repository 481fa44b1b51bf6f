package batch_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
)

// named is an error that names the messages of a batch that failed.
type named map[int]error

func (n named) Error() string           { return fmt.Sprintf("%d messages failed", len(n)) }
func (n named) FailedAt() map[int]error { return n }

// batches is a batch handler: run is given the keys, after their effects.
func batches(calls *[][]string, run func(keys []string) error) *task.Handler {
	h := enginetest.Handler("orders", nil)
	h.Batch = true
	h.Run = func(ctx context.Context, tx *headrace.Tx, inputs []task.Input) error {
		var keys []string
		for _, in := range inputs {
			keys = append(keys, in.Delivery.Key)
			if err := enginetest.Effect(ctx, tx, in); err != nil {
				return err
			}
		}
		*calls = append(*calls, keys)
		return run(keys)
	}
	return h
}

// A batch handler that names its failures is called again without them.
func TestBatchHandlerThatNamesFailures(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var calls [][]string
		e := f.Engine(nil)
		h := batches(&calls, func(keys []string) error {
			failed := named{}
			for i, key := range keys {
				switch key {
				case "m1":
					failed[i] = enginetest.ErrBoom
				case "m4":
					failed[i] = nil // the error of the whole
				}
			}
			if len(failed) > 0 {
				return fmt.Errorf("wrapped: %w", failed)
			}
			return nil
		})
		e.Deliver(h, enginetest.Keys("m", 8)...)
		f.AppliedOnce(h, "m0", "m2", "m3", "m5", "m6", "m7")
		dead(f, h, "m1", retry.Transient)
		dead(f, h, "m4", retry.Transient)
		if a := f.Attempts(h, "m4"); a[0].Error != "wrapped: 2 messages failed" {
			f.Errorf("%q", a[0].Error)
		}
		if len(calls) != 2 || len(calls[1]) != 6 {
			f.Errorf("calls %v", calls)
		}
	})
}

// One that does not say which message failed is called message by message.
func TestBatchHandlerThatDoesNotSay(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var calls [][]string
		e := f.Engine(nil)
		h := batches(&calls, func(keys []string) error {
			if slices.Contains(keys, "m3") {
				return enginetest.ErrBoom
			}
			return nil
		})
		e.Deliver(h, enginetest.Keys("m", 8)...)
		f.AppliedOnce(h, "m0", "m1", "m2", "m4", "m7")
		dead(f, h, "m3", retry.Transient)
		seen := 0
		for _, call := range calls {
			if slices.Contains(call, "m0") {
				seen++
			}
			if len(call) != 8 && len(call) != 1 {
				f.Errorf("a call for %v", call)
			}
		}
		if seen > 3 {
			f.Errorf("m0 ran %d times", seen)
		}
	})
}

// A batch that names another failure with each call is called twice, then message by
// message.
func TestBatchHandlerThatFailsAgainAndAgain(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var calls [][]string
		e := f.Engine(nil)
		h := batches(&calls, func(keys []string) error {
			if len(keys) > 1 {
				return named{0: enginetest.ErrBoom}
			}
			return nil
		})
		e.Deliver(h, enginetest.Keys("m", 8)...)
		dead(f, h, "m0", retry.Transient)
		if most := len(calls); most > 16 {
			f.Errorf("%d calls: %v", most, calls)
		}
		applied := f.Count("SELECT count(*) FROM effects")
		if failures := len(e.Failures()); applied+failures != 8 || failures > 3 {
			f.Errorf("%d applied, %d failed", applied, failures)
		}
	})
}

// An index beyond the batch names no message; stale is not accepted from a batch of several,
// since it may be compared with what is undone.
func TestBatchHandlerThatNamesNobody(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var calls [][]string
		e := f.Engine(nil)
		h := batches(&calls, func(keys []string) error {
			switch {
			case len(keys) > 1 && len(calls) == 1:
				return named{2: inbox.ErrStale}
			case len(keys) > 1:
				return named{99: enginetest.ErrBoom, -1: enginetest.ErrBoom}
			case keys[0] == "m2":
				return named{0: inbox.ErrStale}
			}
			return nil
		})
		h.Pace.Ran(64, 64) // savepoints from the start
		e.Deliver(h, enginetest.Keys("m", 4)...)
		again := calls
		e.Deliver(h, enginetest.Keys("n", 4)...)
		if len(again) > 6 || len(calls) > 12 {
			f.Errorf("calls %v", calls)
		}
		f.AppliedOnce(h, "m0", "m1", "m3", "n0", "n1", "n2", "n3")
		if o := e.Outcomes("m2"); len(o) != 1 || o[0] != task.Stale || f.Effects("m2") != 0 {
			f.Errorf("m2: %v", o)
		}
	})
}
