package batch_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

// strict makes h keep the order of its keys.
func strict(h *task.Handler) *task.Handler {
	h.Strict, h.Intake = true, true
	return h
}

// take takes messages in, in this order, all of one order key.
func take(e *enginetest.Engine, h *task.Handler, orderKey string, keys ...string) {
	e.F.Helper()
	for _, key := range keys {
		e.PutAll(h, enginetest.Delivery(h, key, orderKey))
	}
}

func depth(f *enginetest.Fixture) backlog.Depth {
	f.Helper()
	d, err := f.Store.Backlog().Depth(f.Context(), enginetest.Consumer)
	if err != nil {
		f.Fatal(err)
	}
	d.Oldest = 0
	return d
}

// A run of one key is one transaction, in order.
func TestStrictRunOfAKey(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := strict(counted("orders", runs, never))
		keys := enginetest.Keys("m", 40)
		take(e, h, "k", keys...)
		before := f.Store.Begins.Load()
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, keys...)
		if !slices.Equal(runs.Order(), keys) || f.Store.Begins.Load() != before+1 {
			f.Errorf("%d transactions, order %v", f.Store.Begins.Load()-before, runs.Order())
		}
	})
}

// What comes after a failed message of a strict key is blocked behind it, and released
// when it has ended; other keys of the shard go on.
func TestStrictBlockAndRelease(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		fail := true
		h := strict(counted("orders", runs, func(key string, _ int) error {
			if key == "a2" && fail {
				return retry.Postpone(0, enginetest.ErrBoom)
			}
			return nil
		}))
		take(e, h, "k", enginetest.Keys("a", 5)...)
		w := e.Worker(h)
		e.Round(w)
		f.AppliedOnce(h, "a0", "a1")
		if d := depth(f); d.Blocked != 2 || d.Ready+d.Delayed != 1 {
			f.Fatalf("after the failure: %+v", d)
		}
		take(e, h, "k", "a5") // comes while the key waits
		e.Round(w)
		if runs.Of("a3")+runs.Of("a4")+runs.Of("a5") != 0 {
			f.Fatalf("overtaken: %v", runs.Order())
		}
		fail = false
		e.WorkOff(w)
		f.AppliedOnce(h, enginetest.Keys("a", 6)...)
		if d := depth(f); d != (backlog.Depth{}) {
			f.Errorf("left: %+v", d)
		}
		if order := runs.Order(); !slices.Equal(order[len(order)-4:], []string{"a2", "a3", "a4", "a5"}) {
			f.Errorf("order %v", order)
		}
	})
}

// A message that comes while an earlier one of its strict key is delayed is blocked behind
// it by the visit that finds it.
func TestStrictBehindADelayedMessage(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := strict(counted("orders", runs, func(key string, run int) error {
			if key == "m0" && run == 1 {
				return retry.Postpone(time.Hour, enginetest.ErrBoom)
			}
			return nil
		}))
		w := e.Worker(h)
		take(e, h, "k", "m0")
		e.WorkOff(w)
		take(e, h, "k", "m1", "m2")
		e.WorkOff(w)
		if d := depth(f); d != (backlog.Depth{Delayed: 1, Postponed: 1, Blocked: 2}) || len(runs.Order()) != 1 {
			f.Errorf("%+v, runs %v", d, runs.Order())
		}
	})
}

// A message of a strict key that is given up does not hold up those after it: they run in
// the same transaction as its letter, or after.
func TestStrictGivesUp(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := strict(counted("orders", runs, always("m1", "m3")))
		take(e, h, "k", enginetest.Keys("m", 6)...)
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, "m0", "m2", "m4", "m5")
		dead(f, h, "m1", retry.Transient)
		dead(f, h, "m3", retry.Transient)
		seq := -1 // in the order of their effects
		for _, key := range []string{"m0", "m2", "m4", "m5"} {
			last := lastIndex(runs.Order(), key)
			if last < seq {
				f.Errorf("order %v", runs.Order())
			}
			seq = last
		}
	})
}

// A row that was held back behind a message that is given up stays where it is: the next
// visit begins with it, and not behind it.
func TestStrictGivesUpBeforeAnotherVisit(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		e := f.Engine(func(o *batch.Options) { o.MaxBatch = 2 })
		h := strict(counted("orders", &runs, always("m0")))
		take(e, h, "k", enginetest.Keys("m", 5)...)
		w := e.Worker(h)
		after := int64(0)
		for more := true; more; {
			r, err := w.Work(f.Context(), shardOf, after)
			if err != nil {
				f.Fatal(err)
			}
			after, more = r.Mark, r.More
		}
		dead(f, h, "m0", retry.Transient)
		f.AppliedOnce(h, "m1", "m2", "m3", "m4")
		if order := runs.Order(); !slices.IsSorted(order) {
			f.Errorf("order %v", order)
		}
	})
}

func lastIndex(list []string, one string) int {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i] == one {
			return i
		}
	}
	return -1
}

// Only the first of several failures of one key is recorded: the others did not count.
func TestStrictOneFailureOfAKey(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := strict(counted("orders", runs, func(key string, run int) error {
			if run == 1 {
				return enginetest.ErrBoom
			}
			return nil
		}))
		h.Policy = enginetest.Attempts(3)
		keys := enginetest.Keys("m", 5)
		take(e, h, "k", keys...)
		e.WorkOff(e.Worker(h))
		for _, key := range keys {
			if a := f.Attempts(h, key); len(a) != 1 || runs.Of(key) != 2 || f.Effects(key) != 1 {
				f.Errorf("%s: %d attempts, %d runs, %d effects", key, len(a), runs.Of(key), f.Effects(key))
			}
		}
		want := []string{"m0", "m0", "m1", "m1", "m2", "m2", "m3", "m3", "m4", "m4"}
		if order := runs.Order(); !slices.Equal(order, want) {
			f.Errorf("order %v", order)
		}
	})
}

// What was held back in a transaction that is rolled back runs in the next one where the
// message before it has ended.
func TestStrictAndALostCommit(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := strict(counted("orders", runs, always("m1")))
		take(e, h, "k", enginetest.Keys("m", 4)...)
		f.Store.Lose(1)
		e.WorkOff(e.Worker(h))
		f.AppliedOnce(h, "m0", "m2", "m3")
		dead(f, h, "m1", retry.Transient)
	})
}

// Rows behind a message that waits are blocked by the visit that finds them, and are found
// by the sweep if they are not released.
func TestSweepOfBlockedRows(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		h := strict(counted("orders", runs, func(key string, run int) error {
			if key == "m0" && run == 1 {
				return retry.Postpone(0, enginetest.ErrBoom)
			}
			return nil
		}))
		take(e, h, "k", "m0", "m1", "m2")
		w := e.Worker(h)
		e.Round(w)
		if d := depth(f); d.Blocked != 2 {
			f.Fatalf("%+v", d)
		}
		// A process without Strict ended m0, and released no row.
		f.In(func(t *txn.Txn) error {
			_, err := f.Store.Inbox().Transition(f.Context(), t, []inbox.ID{{Scope: h.Scope, Key: "m0"}}, inbox.Waiting, inbox.Done)
			return err
		})
		f.Exec("DELETE FROM headrace_backlog WHERE key = 'm0'")
		if !w.TidyOnce(f.Context()) || depth(f).Ready == 0 {
			f.Errorf("after the sweep %+v", depth(f))
		}
		for e.WorkOff(w); w.TidyOnce(f.Context()); {
			e.WorkOff(w)
		}
		f.AppliedOnce(h, "m1", "m2")
	})
}

// Live deliveries of one order key come back in their order: what follows one that another
// transaction works on waits with it.
func TestBusyKeyHoldsUpItsOrderKey(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		if f.SQLite {
			f.Skip("SQLite has one writer: no key is busy")
		}
		var runs enginetest.Runs
		e := f.Engine(nil)
		h := counted("orders", &runs, never)
		var tasks []*task.Task
		for i := range 6 {
			tasks = append(tasks, e.Task(h, enginetest.Delivery(h, fmt.Sprint("m", i), fmt.Sprint("k", i%2))))
		}
		other, err := f.Store.Begin(f.Context())
		if err != nil {
			f.Fatal(err)
		}
		if _, err := f.Store.Inbox().Claim(f.Context(), other, inbox.ClaimRequest{Claims: []inbox.Claim{{ID: tasks[2].ID(), Fingerprint: "f"}}}); err != nil {
			f.Fatal(err)
		}
		before := f.Store.Begins.Load()
		again := e.Process(slices.Clone(tasks))          // m2 is busy, and m4 is of its order key
		if n := f.Store.Begins.Load() - before; n != 3 { // one without savepoints, one key by key, one without what is busy
			f.Errorf("%d transactions", n)
		}
		f.AppliedOnce(h, "m1", "m3", "m5")
		if n := len(again); n < 2 || again[n-2] != tasks[2] || again[n-1] != tasks[4] || again[n-2].Rest == 0 || again[n-1].Rest == 0 {
			f.Errorf("to be run again: %v", task.IDs(again))
		}
		other.Rollback()
		e.ProcessAll(again)
		f.AppliedOnce(h, enginetest.Keys("m", 6)...)
		ofKey := slices.DeleteFunc(runs.Order(), func(key string) bool { return !slices.Contains([]string{"m0", "m2", "m4"}, key) })
		if !slices.Equal(ofKey, []string{"m0", "m2", "m4"}) {
			f.Errorf("order %v", runs.Order())
		}
	})
}

// A visit runs messages of several handlers in one transaction; one that needs its own has
// it.
func TestVisitOfSeveralHandlers(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		together := make(map[int64][]string) // by transaction
		mark := func(name string) *task.Handler {
			return enginetest.Handler(name, func(ctx context.Context, tx *headrace.Tx, in task.Input) error {
				runs.Next(in.Delivery.Key)
				n := f.Store.Begins.Load()
				together[n] = append(together[n], in.Delivery.Key)
				return enginetest.Effect(ctx, tx, in)
			})
		}
		a, b, alone := mark("a"), mark("b"), mark("alone")
		alone.Alone = true
		for i := range 8 {
			take(e, []*task.Handler{a, b}[i%2], "k", fmt.Sprint("m", i))
		}
		w := e.Worker(a, b, alone)
		e.WorkOff(w)
		f.AppliedOnce(a, "m0", "m2", "m4", "m6")
		f.AppliedOnce(b, "m1", "m3", "m5", "m7")
		if len(together) != 1 {
			f.Errorf("transactions %v", together)
		}
		clear(together)
		take(e, alone, "k", "x0")
		take(e, a, "k", "n0")
		take(e, alone, "k", "x1")
		take(e, a, "k", "n1")
		e.WorkOff(w)
		f.AppliedOnce(alone, "x0", "x1")
		f.AppliedOnce(a, "n0", "n1")
		for _, keys := range together {
			if len(keys) > 1 && (slices.Contains(keys, "x0") || slices.Contains(keys, "x1")) {
				f.Errorf("transactions %v", together)
			}
		}
	})
}

// Of a strict key of a leased handler one row waits to be leased; the others are blocked
// behind it.
func TestStrictRowsOfALeasedHandler(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		e := f.Engine(nil)
		h := leasedHandler("slow")
		h.Strict = true
		take(e, h, "k", "m0", "m1", "m2")
		e.WorkOff(e.Worker(h))
		leasable := f.Count("SELECT count(*) FROM headrace_backlog WHERE status = 'leasable' AND key = 'm0'")
		if d := depth(f); leasable != 1 || d.Blocked != 2 {
			f.Errorf("%d can be leased, %+v", leasable, d)
		}
	})
}

// When a COMMIT is refused, the messages of a transaction are tried again in smaller ones.
// What a dead letter held back in the first of them is not overtaken by the second.
//
// Without that a message was applied before an earlier one of its strict key (found by
// tests/torture).
//
//evidence:strict
func TestStrictOrderOverSmallerParts(t *testing.T) {
	onEach(t, func(f *enginetest.Fixture, e *enginetest.Engine, runs *enginetest.Runs) {
		var applied []string
		h := strict(counted("orders", runs, func(key string, _ int) error {
			if key == "m5" {
				return retry.Permanent(enginetest.ErrBoom)
			}
			applied = append(applied, key)
			return nil
		}))
		keys := enginetest.Keys("m", 40)
		take(e, h, "k", keys...)
		f.Store.Refuse(1, errors.Join(txn.ErrRolledBack, enginetest.ErrBoom))
		e.WorkOff(e.Worker(h))
		others := slices.DeleteFunc(keys, func(key string) bool { return key == "m5" })
		f.AppliedOnce(h, others...)
		dead(f, h, "m5", retry.PermanentFailure)
		if last := applied[max(0, len(applied)-34):]; !slices.Equal(last, others[5:]) {
			f.Errorf("order %v", applied)
		}
	})
}
