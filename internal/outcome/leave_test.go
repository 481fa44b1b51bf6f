package outcome_test

import (
	"slices"
	"testing"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/store/txn"
)

func strict(name string) *task.Handler {
	h := handler(name)
	h.Strict = true
	return h
}

// What a failed message of a strict key held back is blocked behind it while it waits, and
// released when it ends; where it is given up at once, nothing is blocked.
func TestStrictOrder(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := strict("orders")
		f.put(h, "k", "m0", "m1", "m2", "m3")
		b := f.visit(h, "k", map[string]error{"m1": retry.After(time.Hour, enginetest.ErrBoom)})
		if d := f.depth(); d != (backlog.Depth{Delayed: 1, Blocked: 2}) {
			f.Errorf("m1 waits: %+v", d)
		}
		if o := b.Failed[1]; o.Outcome != task.Released || f.State(h, "m2") != inbox.Waiting || f.State(h, "m0") != inbox.Done {
			f.Errorf("m2: %+v, state %q", o, f.State(h, "m2"))
		}
		f.put(h, "k", "m4")
		f.Exec("UPDATE headrace_backlog SET due_at = NULL, status = 'ready' WHERE key = 'm1'")
		b = f.visit(h, "k", map[string]error{"m1": retry.Permanent(enginetest.ErrBoom)})
		if d := f.depth(); d != (backlog.Depth{Ready: 3}) {
			f.Errorf("m1 is dead: %+v", d)
		}
		var order []string
		for _, one := range f.visit(h, "k", nil).Applied {
			order = append(order, one.Delivery.Key)
		}
		slices.Sort(order)
		if !slices.Equal(order, []string{"m2", "m3", "m4"}) || f.depth() != (backlog.Depth{}) {
			f.Errorf("released %v, left %+v", order, f.depth())
		}
		f.put(h, "k", "n0", "n1")
		f.visit(h, "k", map[string]error{"n0": retry.Permanent(enginetest.ErrBoom)})
		if d := f.depth(); d != (backlog.Depth{Ready: 1}) {
			f.Errorf("n0 is dead at once: %+v", d)
		}
	})
}

// Without Strict a failed message holds up nothing, and other keys are not touched.
func TestNoOrder(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h, other := handler("loose"), strict("strict")
		f.put(h, "k", "m0", "m1")
		f.put(other, "k", "s0", "s1")
		f.visit(h, "k", map[string]error{"m0": retry.After(time.Hour, enginetest.ErrBoom)})
		if d := f.depth(); d != (backlog.Depth{Ready: 2, Delayed: 1}) {
			f.Errorf("%+v", d)
		}
		f.visit(other, "k", map[string]error{"s0": retry.After(time.Hour, enginetest.ErrBoom)})
		if d := f.depth(); d != (backlog.Depth{Delayed: 2, Blocked: 1}) {
			f.Errorf("%+v", d)
		}
	})
}

// After a leased row of a strict key one row is released: it is leased next, and the
// others would be blocked behind it again.
func TestReleaseAfterALease(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := strict("orders")
		f.put(h, "k", "m0", "m1", "m2")
		ctx, leases := f.Context(), f.Store.Backlog().Leases
		var ready []*task.Task
		f.In(func(t *txn.Txn) error { // as a visit for a leased handler does
			ready = f.rows(t, h, "k")
			if err := leases.MoveToLeased(ctx, t, []int64{ready[0].Item.RowID}); err != nil {
				return err
			}
			if _, err := f.Store.Inbox().Transition(ctx, t, task.IDs(ready), inbox.Done, inbox.Waiting); err != nil {
				return err
			}
			_, err := f.Store.Backlog().Order.Block(ctx, t, []int64{ready[1].Item.RowID, ready[2].Item.RowID})
			return err
		})
		if d := f.depth(); d.Blocked != 2 {
			f.Fatalf("%+v", d)
		}
		f.In(func(t *txn.Txn) error {
			items, err := leases.Claim(ctx, t, h.Consumer, h.Name, "token", time.Minute, 10)
			if err != nil || len(items) != 1 {
				f.Fatalf("%d leased, %v", len(items), err)
			}
			one := &task.Task{Handler: h, Delivery: items[0].Delivery, Item: &items[0], Token: "token"}
			if _, err := f.Store.Inbox().Transition(ctx, t, []inbox.ID{one.ID()}, inbox.Waiting, inbox.Done); err != nil {
				return err
			}
			_, err = f.r.Record(ctx, t, outcome.Batch{Applied: []*task.Task{one}})
			return err
		})
		if d := f.depth(); d.Ready != 1 || d.Blocked != 1 {
			f.Errorf("%+v", d)
		}
	})
}

// Rows whose messages other transactions ended leave the backlog, and release what was
// blocked behind them.
func TestGoneRows(t *testing.T) {
	onEachStore(t, func(f *fixture) {
		h := strict("orders")
		f.put(h, "k", "m0", "m1")
		f.visit(h, "k", map[string]error{"m0": retry.Postpone(0, enginetest.ErrBoom)})
		if d := f.depth(); d.Blocked != 1 {
			f.Fatalf("%+v", d)
		}
		f.record(func(t *txn.Txn) outcome.Batch { return outcome.Batch{Gone: f.rows(t, h, "k")} })
		if d := f.depth(); d != (backlog.Depth{Ready: 1}) || f.State(h, "m0") != inbox.Done || f.State(h, "m1") != inbox.Waiting {
			f.Errorf("%+v", d)
		}
	})
}
