package batch_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// dead checks that a message is dead after one attempt, of this class, without effects.
func dead(f *enginetest.Fixture, h *task.Handler, key string, class retry.Class) {
	f.Helper()
	a := f.Attempts(h, key)
	if f.State(h, key) != inbox.Dead || f.Effects(key) != 0 || len(a) != 1 || a[0].Class != string(class) {
		f.Errorf("%s: state %q, %d effects, attempts %+v", key, f.State(h, key), f.Effects(key), a)
	}
	for _, l := range f.Letters() {
		if l.Delivery.Key == key {
			return
		}
	}
	f.Errorf("%s has no letter", key)
}

// One message of a batch fails: its failure is recorded without another run, in the
// commit of the others, and no neighbour runs more than twice.
func TestOneFailureInABatch(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		for name, c := range map[string]struct {
			class retry.Class
			fail  func(ctx context.Context, tx *headrace.Tx) error
		}{
			"error":     {retry.Transient, func(context.Context, *headrace.Tx) error { return enginetest.ErrBoom }},
			"panic":     {retry.Panic, func(context.Context, *headrace.Tx) error { panic("boom") }},
			"permanent": {retry.PermanentFailure, func(context.Context, *headrace.Tx) error { return retry.Permanent(enginetest.ErrBoom) }},
			"statement": {retry.Transient, func(ctx context.Context, tx *headrace.Tx) error {
				_, err := tx.ExecContext(ctx, "SELECT nothing FROM nowhere")
				return err
			}},
			"statement passed over": {retry.Transient, func(ctx context.Context, tx *headrace.Tx) error {
				_, _ = tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES (NULL)")
				return enginetest.ErrBoom
			}},
		} {
			oneFails(f, name, c.class, c.fail)
		}
	})
}

func oneFails(f *enginetest.Fixture, name string, class retry.Class, fail func(ctx context.Context, tx *headrace.Tx) error) {
	var runs enginetest.Runs
	e, culprit := f.Engine(nil), name+"40"
	h := enginetest.Handler(name, func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
		runs.Next(in.Delivery.Key)
		if err := enginetest.Effect(ctx, tx, in); err != nil || in.Delivery.Key != culprit {
			return err
		}
		return fail(ctx, tx)
	})
	keys, begins := enginetest.Keys(name, 64), f.Store.Begins.Load()
	e.Deliver(h, keys...)
	dead(f, h, culprit, class)
	if n := runs.Of(culprit); n != 1 {
		f.Errorf("%s: the culprit ran %d times", name, n)
	}
	others := slices.DeleteFunc(keys, func(key string) bool { return key == culprit })
	f.AppliedOnce(h, others...)
	for _, key := range others {
		if n := runs.Of(key); n > 2 {
			f.Errorf("%s ran %d times", key, n)
		}
	}
	if n := f.Store.Begins.Load() - begins; n != 2 {
		f.Errorf("%s: %d transactions, want 2", name, n)
	}
	if o := e.Outcomes(culprit); len(o) != 1 || o[0] != task.Dead {
		f.Errorf("%s: outcomes %v", name, o)
	}
}

// A failure before the first statement rolls nothing back: each message runs once, and
// there is one transaction.
func TestFailureThatTouchedNothing(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			runs.Next(in.Delivery.Key)
			switch in.Delivery.Key {
			case "m3":
				return enginetest.ErrBoom
			case "m30":
				panic("boom")
			}
			return enginetest.Effect(ctx, tx, in)
		})
		keys := enginetest.Keys("m", 64)
		e.Deliver(h, keys...)
		dead(f, h, "m3", retry.Transient)
		dead(f, h, "m30", retry.Panic)
		if n := f.Store.Begins.Load(); n != 1 || len(runs.Order()) != 64 {
			f.Errorf("%d transactions, %d runs", n, len(runs.Order()))
		}
		if n := f.Count("SELECT count(*) FROM effects"); n != 62 {
			f.Errorf("%d effects", n)
		}
		if h.Pace.Spacing(64, false) != 0 {
			t.Error("failures that undo nothing count for the spacing of savepoints")
		}
	})
}

// Several messages fail: each is recorded without another run. A neighbour runs once
// more for the first failure, and at most twice more after a savepoint.
func TestSeveralFailuresInABatch(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		failing := []string{"m5", "m6", "m7", "m8", "m9", "m41"}
		h := counted("orders", runs, always(failing...))
		keys := enginetest.Keys("m", 64)
		e.Deliver(h, keys...)
		for _, key := range failing {
			dead(f, h, key, retry.Transient)
			if n := runs.Of(key); n != 1 {
				f.Errorf("culprit %s ran %d times", key, n)
			}
		}
		others := slices.DeleteFunc(keys, func(key string) bool { return slices.Contains(failing, key) })
		f.AppliedOnce(h, others...)
		total := 0
		for _, key := range others {
			n := runs.Of(key)
			total += n
			if n > 4 {
				f.Errorf("%s ran %d times", key, n)
			}
		}
		// The first transaction ran five of them, the second all, and twice again those five
		// and the few since the last savepoint before m41.
		if total > 5+len(others)+2*5+12 {
			f.Errorf("%d runs of %d neighbours", total, len(others))
		}
		if n := f.Store.Begins.Load(); n != 2 {
			f.Errorf("%d transactions, want 2", n)
		}
		if got := len(e.Failures()); got != len(failing) {
			f.Errorf("%d failures told", got)
		}
	})
}

// All fail: the batch still ends in few transactions, each with one attempt.
func TestAllFail(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		keys := enginetest.Keys("m", 64)
		h := counted("orders", runs, always(keys...))
		e.Deliver(h, keys...)
		for _, key := range keys {
			dead(f, h, key, retry.Transient)
			if n := runs.Of(key); n != 1 {
				f.Errorf("%s ran %d times", key, n)
			}
		}
		if n := f.Store.Begins.Load(); n > 6 {
			f.Errorf("%d transactions", n)
		}
		if s := h.Pace.Spacing(64, false); s < 1 || s > 12 {
			f.Errorf("spacing %d after a batch that failed", s)
		}
	})
}

// A handler that passes over a failed statement has failed itself, even if the statements
// after it work again.
func TestFailedStatementPassedOver(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		if f.SQLite {
			f.Skip("a failed statement does not abort a transaction of SQLite")
		}
		e := f.Engine(nil)
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			if in.Delivery.Key == "m3" {
				_, _ = tx.ExecContext(ctx, "INSERT INTO effects (msg) VALUES (NULL)")
				return nil
			}
			return enginetest.Effect(ctx, tx, in)
		})
		e.Deliver(h, enginetest.Keys("m", 8)...)
		dead(f, h, "m3", retry.Transient)
		f.AppliedOnce(h, "m2", "m4", "m7")
		if n := f.Store.Begins.Load(); n != 2 {
			f.Errorf("%d transactions: it was not seen before the next one failed", n)
		}
	})
}

// A message that its handler calls stale is done without effects and spends no attempt. It
// counts in the transaction that commits: here the message that it was compared with fails.
func TestStale(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		newest := 0
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			run := runs.Next(in.Delivery.Key)
			if err := enginetest.Effect(ctx, tx, in); err != nil {
				return err
			}
			switch in.Delivery.Key {
			case "m1":
				newest = 2
				return nil
			case "m2":
				if newest == 2 && run == 1 {
					return inbox.ErrStale
				}
			case "m3":
				newest = 1
				return enginetest.ErrBoom
			case "m5":
				return errors.Join(inbox.ErrStale)
			}
			return nil
		})
		e.Deliver(h, enginetest.Keys("m", 8)...)
		f.AppliedOnce(h, "m0", "m1", "m2", "m4", "m6", "m7")
		dead(f, h, "m3", retry.Transient)
		if o := e.Outcomes("m5"); len(o) != 1 || o[0] != task.Stale || f.State(h, "m5") != inbox.Done || f.Effects("m5") != 0 {
			f.Errorf("m5: %v, state %q", o, f.State(h, "m5"))
		}
		if n := len(e.Failures()); n != 1 {
			f.Errorf("%d failures told, want that of m3", n)
		}
	})
}

// What a message is compared with may itself fail when it is run again: then the message
// is not stale.
func TestStaleAgainstWhatFails(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		newest := false
		h := counted("orders", new(enginetest.Runs), func(key string, run int) error {
			switch key {
			case "m1":
				if newest = run == 1; !newest {
					return enginetest.ErrBoom
				}
			case "m2":
				if newest {
					return inbox.ErrStale
				}
			}
			return nil
		})
		h.Pace.Ran(64, 64) // a savepoint after every three
		e.Deliver(h, enginetest.Keys("m", 6)...)
		dead(f, h, "m1", retry.Transient)
		f.AppliedOnce(h, "m0", "m2", "m3", "m4", "m5")
	})
}

// A message that cannot be decoded does not run, and becomes a letter beside the others.
func TestUndecodable(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := counted("orders", runs, never)
		tasks := e.Tasks(h, enginetest.Keys("m", 4)...)
		tasks[1].Bad = errors.New("no JSON")
		e.ProcessAll(tasks)
		f.AppliedOnce(h, "m0", "m2", "m3")
		letters := f.Letters()
		if runs.Of("m1") != 0 || len(letters) != 1 || letters[0].Class != dlq.Undecodable || letters[0].Error != "no JSON" || letters[0].Attempts != 0 {
			f.Errorf("%d runs, letters %+v", runs.Of("m1"), letters)
		}
	})
}

// What a handler that fails has published is not published; what others have is.
func TestEventsOfFailures(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			if err := tx.Publish(headrace.Event{Topic: "events", ID: in.Delivery.Key, Payload: []byte("{}")}); err != nil {
				return err
			}
			return always("m2", "m6")(in.Delivery.Key, 1)
		})
		e.Deliver(h, enginetest.Keys("m", 8)...)
		if n := f.Count("SELECT count(*) FROM headrace_outbox"); n != 6 {
			f.Errorf("%d events", n)
		}
		if n := f.Count("SELECT count(*) FROM headrace_outbox WHERE message_id IN ('m2', 'm6')"); n != 0 {
			f.Errorf("%d events of failures", n)
		}
	})
}

// A transaction has a bounded number of savepoints, those of Nested included; what fails
// beyond them is found all the same.
func TestSavepointsAreBounded(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var most atomic.Int64
		e := f.Engine(nil)
		f.Store.OnCommit = func(t *txn.Txn) { most.Store(max(most.Load(), int64(t.Subtransactions()))) }
		h := enginetest.Handler("orders", func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
			err := tx.Nested(ctx, func(ctx context.Context, tx *headrace.Tx) error { return enginetest.Effect(ctx, tx, in) })
			if err != nil || in.Delivery.Key[len(in.Delivery.Key)-1] != '7' {
				return err
			}
			return enginetest.ErrBoom
		})
		h.Pace.Ran(64, 64) // savepoints from the start
		keys := enginetest.Keys("m", 64)
		e.Deliver(h, keys...)
		for _, key := range keys {
			if key[len(key)-1] == '7' {
				dead(f, h, key, retry.Transient)
			} else {
				f.AppliedOnce(h, key)
			}
		}
		if n := most.Load(); n == 0 || n > 64+8 { // one of each message, and ours up to the bound
			f.Errorf("%d savepoints in a transaction", n)
		}
	})
}
