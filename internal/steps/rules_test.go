package steps_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

var errBoom = errors.New("boom")

// charge is a call of a system that drops repetitions of a key.
var charge = ledger.Step[invoice]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}

// do runs a step once, in a run of its own.
func (b *bed) do(step ledger.Step[invoice], f func(c *ledger.Call) (invoice, error)) (invoice, error) {
	b.Helper()
	declared := step
	r, ctx := b.begin(declared)
	defer r.End()
	return step.Do(ctx, func(_ context.Context, c *ledger.Call) (invoice, error) { return f(c) })
}

// fails returns a function that notes the key of its call and fails.
func fails(keys *[]string, err error) func(*ledger.Call) (invoice, error) {
	return func(c *ledger.Call) (invoice, error) {
		*keys = append(*keys, c.Key)
		return invoice{}, err
	}
}

// DESIGN §3 Steps: which errors leave the key as it is, and which begin a new one. "New"
// means that the last call has another key than the one before it.
//
//evidence:ledger
func TestKeys(t *testing.T) {
	refused, notSent := ledger.Refused(errBoom), ledger.NotSent(errBoom)
	for name, c := range map[string]struct {
		recovery ledger.Recovery
		errs     []error // of the calls, in order; io.EOF stands for no answer
		renewed  bool    // the call after them has a new key
		state    ledger.State
	}{
		"refused":                           {ledger.Retry, []error{refused}, true, ledger.Failed},
		"not sent":                          {ledger.Retry, []error{notSent}, false, ledger.Failed},
		"open":                              {ledger.Retry, []error{io.EOF}, false, ledger.Pending},
		"not sent after open":               {ledger.Retry, []error{io.EOF, notSent}, false, ledger.Pending},
		"refused after open, drops":         {ledger.Retry, []error{io.EOF, refused}, true, ledger.Failed},
		"refused after open, drops nothing": {ledger.Probe, []error{io.EOF, refused}, false, ledger.Pending},
		"refused after not sent":            {ledger.Probe, []error{notSent, refused}, true, ledger.Failed},
		"not sent after refused":            {ledger.Retry, []error{refused, notSent}, false, ledger.Failed},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				erp := &system{}
				step := ledger.Step[invoice]{Name: "charge", System: "bank", Recover: c.recovery}
				if c.recovery == ledger.Retry {
					step.KeyWindow = ledger.Forever
				} else {
					step.Find = erp.find
				}
				var keys []string
				for _, err := range c.errs {
					if _, got := b.do(step, fails(&keys, err)); !errors.Is(got, err) {
						b.Fatalf("%v, not %v", got, err)
					}
					b.pass(time.Hour)
				}
				b.state("charge", c.state)
				got, err := b.do(step, func(call *ledger.Call) (invoice, error) {
					keys = append(keys, call.Key)
					return erp.create(call.Key), nil
				})
				if n := len(keys); err != nil || got.ID != "inv_1" || n != len(c.errs)+1 || (keys[n-1] != keys[n-2]) != c.renewed {
					b.Errorf("%+v, %v, keys %v", got, err, keys)
				}
			})
		})
	}
}

// A status that refuses a repetition may be about the key: a person must look.
//
//evidence:ledger
func TestStatusAfterAnOpenCall(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge, fails(&keys, io.EOF))
		_, err := b.do(charge, fails(&keys, statusRefused()))
		if b.state("charge", ledger.Parked); !parked(err) || !retry.IsPermanent(err) || keys[0] != keys[1] {
			b.Errorf("%v, keys %v", err, keys)
		}
		if !strings.Contains(err.Error(), "answer 400") || !strings.Contains(b.row("charge").Error, "answer 400") {
			b.Errorf("nothing names the status: %v", err)
		}
		_, later := b.do(charge, fails(&keys, nil))
		if !parked(later) || len(keys) != 2 || later.Error() != err.Error() {
			b.Errorf("%v, keys %v", later, keys)
		}
	})
}

// A key has a window: after it a repetition would be carried out again.
//
//evidence:ledger
func TestKeyWindow(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge, fails(&keys, io.EOF))
		b.pass(24*time.Hour - charge.Timeout - time.Minute)
		_, _ = b.do(charge, fails(&keys, io.EOF))
		if len(keys) != 2 || keys[0] != keys[1] {
			b.Fatalf("within the window: %v", keys)
		}
		b.pass(time.Minute) // a call that lasts until its Timeout would be out of it
		_, err := b.do(charge, fails(&keys, nil))
		if b.state("charge", ledger.Parked); !parked(err) || len(keys) != 2 {
			b.Errorf("%v, keys %v", err, keys)
		}
	})
}

// A clock that was set back does not lengthen the window: the age of the key is unknown.
func TestKeyWindowAfterTheClockWasSetBack(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge, fails(&keys, io.EOF))
		b.pass(-48 * time.Hour)
		_, err := b.do(charge, fails(&keys, nil))
		if b.state("charge", ledger.Parked); !parked(err) || len(keys) != 1 {
			b.Errorf("%v, keys %v", err, keys)
		}
	})
}

// A mark records how long the system may work on the call, as it is declared then; and an
// earlier call may be worked on for longer than the latest.
func TestDeclaredTimes(t *testing.T) {
	onEachStore(t, func(b *bed) {
		within := func(least, most time.Duration) {
			b.Helper()
			if d := b.row("charge").Unsettled; d <= least || d > most {
				b.Errorf("the calls may be worked on for %s", d)
			}
		}
		var keys []string
		slow := charge
		slow.Timeout, slow.FindAfter = time.Hour, 2*time.Hour
		_, _ = b.do(slow, fails(&keys, io.EOF))
		within(2*time.Hour, 3*time.Hour)
		b.pass(time.Hour)
		_, _ = b.do(charge, fails(&keys, io.EOF))
		within(time.Hour, 2*time.Hour)
		b.pass(3 * time.Hour)
		_, _ = b.do(charge, fails(&keys, io.EOF))
		within(0, 70*time.Second)
	})
}

// After the window, a step with Find asks.
func TestKeyWindowWithFind(t *testing.T) {
	onEachStore(t, func(b *bed) {
		bank := &system{}
		step := charge
		step.Find = bank.find
		_, _ = b.do(step, func(c *ledger.Call) (invoice, error) { bank.create(c.Key); return invoice{}, io.EOF })
		b.pass(48 * time.Hour)
		got, err := b.do(step, func(*ledger.Call) (invoice, error) { b.Error("called"); return invoice{}, nil })
		if r := b.row("charge"); err != nil || got.ID != "inv_1" || r.Via != ledger.ViaProbe || r.ExternalID != "inv_1" {
			b.Errorf("%+v, %v, %+v", got, err, r)
		}
	})
}

// A Find that finds nothing is believed only when the system has had its time.
//
//evidence:ledger
func TestFindTooEarly(t *testing.T) {
	onEachStore(t, func(b *bed) {
		erp := &system{}
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Probe, Find: erp.find, FindAfter: time.Hour}
		var keys []string
		_, _ = b.do(step, fails(&keys, io.EOF))
		_, err := b.do(step, fails(&keys, nil))
		if wait, _, ok := retry.Postponed(err); !ok || wait < 59*time.Minute || wait > time.Hour+step.Timeout+ledger.DefaultTimeout || len(keys) != 1 {
			b.Fatalf("%v, %d calls", err, len(keys))
		}
		b.state("invoice", ledger.Pending)
		erp.create(keys[0]) // it was at work on it
		if got, err := b.do(step, fails(&keys, nil)); err != nil || got.ID != "inv_1" || len(keys) != 1 {
			b.Errorf("%+v, %v, %d calls", got, err, len(keys))
		}
	})
}

// A Find that fails decides nothing.
func TestFindThatFails(t *testing.T) {
	onEachStore(t, func(b *bed) {
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Probe, Find: func(context.Context, *ledger.Call) (invoice, bool, error) {
			return invoice{}, true, errBoom
		}}
		var keys []string
		_, _ = b.do(step, fails(&keys, io.EOF))
		b.pass(time.Hour)
		if _, err := b.do(step, fails(&keys, nil)); !errors.Is(err, errBoom) || len(keys) != 1 {
			b.Errorf("%v, %d calls", err, len(keys))
		}
		b.state("invoice", ledger.Pending)
	})
}

// What the system says that it has is adopted through Find; where its search lags the
// message waits, and then a person decides.
//
//evidence:ledger
func TestExists(t *testing.T) {
	onEachStore(t, func(b *bed) {
		erp := &system{}
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Probe, Find: erp.find}
		exists := ledger.Exists(errBoom)
		var keys []string
		_, err := b.do(step, fails(&keys, exists))
		if _, _, ok := retry.Postponed(err); !ok {
			b.Errorf("its search may lag: %v", err)
		}
		b.pass(time.Hour)
		if _, err = b.do(step, fails(&keys, exists)); !parked(err) {
			b.Errorf("it does not lag an hour: %v", err)
		}
		b.state("invoice", ledger.Parked)
	})
	onEachStoreOf(t, "found", func(b *bed) {
		erp := &system{}
		step := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park, Find: erp.find}
		got, err := b.do(step, func(c *ledger.Call) (invoice, error) { erp.create(c.Key); return invoice{}, ledger.Exists(errBoom) })
		if r := b.row("invoice"); err != nil || got.ID != "inv_1" || r.Via != ledger.ViaExists || r.ExternalID != "inv_1" {
			b.Errorf("%+v, %v, %+v", got, err, r)
		}
	})
	onEachStoreOf(t, "without Find", func(b *bed) {
		var keys []string
		if _, err := b.do(charge, fails(&keys, ledger.Exists(errBoom))); !parked(err) {
			b.Errorf("%v", err)
		}
	})
}

// An input that changes between two runs.
//
//evidence:ledger
func TestInput(t *testing.T) {
	for name, c := range map[string]struct {
		first error // of the first call
		check func(b *bed, err error, keys []string)
	}{
		"done": {nil, func(b *bed, err error, keys []string) {
			if !errors.Is(err, ledger.ErrInput) || !retry.IsPermanent(err) || len(keys) != 1 {
				b.Errorf("%v, keys %v", err, keys)
			}
		}},
		"open": {io.EOF, func(b *bed, err error, keys []string) {
			if !parked(err) || len(keys) != 1 {
				b.Errorf("%v, keys %v", err, keys)
			}
		}},
		"failed": {ledger.NotSent(errBoom), func(b *bed, err error, keys []string) {
			if err != nil || len(keys) != 2 || keys[0] != keys[1] {
				b.Errorf("%v, keys %v", err, keys)
			}
		}},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				var keys []string
				_, _ = b.do(charge.Input(map[string]any{"total": 10, "currency": "EUR"}), fails(&keys, c.first))
				_, err := b.do(charge.Input(map[string]any{"currency": "EUR", "total": 11}), fails(&keys, nil))
				c.check(b, err, keys)
			})
		})
	}
	onEachStoreOf(t, "the same in another order", func(b *bed) {
		var keys []string
		_, _ = b.do(charge.Input(map[string]any{"total": 10, "currency": "EUR"}), fails(&keys, nil))
		if _, err := b.do(charge.Input(struct {
			Currency string `json:"currency"`
			Total    int    `json:"total"`
		}{"EUR", 10}), fails(&keys, nil)); err != nil || len(keys) != 1 {
			b.Errorf("%v, %d calls", err, len(keys))
		}
	})
}

// A step that was renamed has the row and the key of its old name.
//
//evidence:ledger
func TestRename(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge.Of("1"), fails(&keys, io.EOF))
		renamed := charge
		renamed.Name, renamed.Was = "payment", []string{"older", "charge"}
		if _, err := b.do(renamed.Of("1"), fails(&keys, nil)); err != nil || len(keys) != 2 || keys[0] != keys[1] {
			b.Errorf("%v, keys %v", err, keys)
		}
		b.state("charge/1", ledger.Done)
		if r := b.row("payment/1"); r.Step != "" {
			b.Errorf("%+v", r)
		}
		if _, err := b.do(renamed.Of("2"), fails(&keys, nil)); err != nil || len(keys) != 3 {
			b.Errorf("%v, %d calls", err, len(keys))
		}
		b.state("payment/2", ledger.Done)
	})
}

// A step that is recorded, and that the handler does not declare, stops the message before
// anything is called.
//
//evidence:ledger
func TestUndeclaredRow(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge, fails(&keys, io.EOF))
		other := charge
		other.Name = "payment"
		_, err := b.do(other, fails(&keys, nil))
		if _, _, ok := retry.Postponed(err); !ok || retry.IsPermanent(err) || len(keys) != 1 || !strings.Contains(err.Error(), "charge") {
			b.Errorf("%v, %d calls", err, len(keys))
		}
		b.postponed = 15 * time.Minute
		if _, err = b.do(other, fails(&keys, nil)); !parked(err) || !retry.IsPermanent(err) || len(keys) != 1 {
			b.Errorf("after a while: %v, %d calls", err, len(keys))
		}
		r, ctx := b.begin(other, ledger.Gone("charge"))
		defer r.End()
		if _, err := other.Do(ctx, func(context.Context, *ledger.Call) (invoice, error) { return invoice{}, nil }); err != nil {
			b.Errorf("with Gone: %v", err)
		}
	})
}

// Misuse is refused before a call.
func TestMisuse(t *testing.T) {
	onEachStore(t, func(b *bed) {
		calls := 0
		f := func(context.Context, *ledger.Call) (invoice, error) { calls++; return invoice{}, nil }
		r, ctx := b.begin(charge)
		other, changed := charge, charge
		other.Name, changed.KeyWindow = "other", time.Hour
		for _, step := range []ledger.Step[invoice]{other, changed} {
			if _, err := step.Do(ctx, f); !errors.Is(err, ledger.ErrUndeclared) {
				b.Errorf("%s: %v", step.Name, err)
			}
		}
		if _, err := charge.Do(b.Context(), f); !errors.Is(err, ledger.ErrNotLeased) {
			b.Errorf("%v", err)
		}
		if _, err := charge.Do(ctx, f); err != nil || calls != 1 {
			b.Errorf("%v, %d calls", err, calls)
		}
		if _, err := charge.Do(ctx, f); !errors.Is(err, ledger.ErrTwice) {
			b.Errorf("%v", err)
		}
		if _, err := charge.Of("2").Do(ctx, f); err != nil {
			b.Error(err)
		}
		r.End()
		if _, err := charge.Of("3").Do(ctx, f); !errors.Is(err, ledger.ErrEnded) || calls != 2 {
			b.Errorf("%v, %d calls", err, calls)
		}
	})
}

// A step may ask a person, and goes on when the person has said that it is done.
func TestAskPerson(t *testing.T) {
	onEachStore(t, func(b *bed) {
		step := ledger.Step[struct{}]{Name: "limit", System: "shop", Recover: ledger.Park}
		calls := 0
		do := func() error {
			r, ctx := b.begin(step)
			defer r.End()
			_, err := step.Do(ctx, func(context.Context, *ledger.Call) (struct{}, error) {
				calls++
				return struct{}{}, ledger.AskPerson("there are too many")
			})
			return err
		}
		for range 2 {
			if err := do(); !parked(err) || !strings.Contains(err.Error(), "there are too many") || calls != 1 {
				b.Errorf("%v, %d calls", err, calls)
			}
		}
		if r := b.row("limit"); r.State != ledger.Parked || r.Error != "there are too many" {
			b.Errorf("%+v", r)
		}
		b.Exec("UPDATE headrace_steps SET state = 'done', via = 'person'")
		if err := do(); err != nil || calls != 1 {
			b.Errorf("%v, %d calls", err, calls)
		}
	})
}

// A panic in a call leaves its outcome open, and is an error of the handler.
func TestPanic(t *testing.T) {
	onEachStore(t, func(b *bed) {
		_, err := b.do(charge, func(*ledger.Call) (invoice, error) { panic("boom") })
		if p, ok := errors.AsType[*retry.PanicError](err); !ok || p.Value != "boom" {
			b.Errorf("%v", err)
		}
		b.state("charge", ledger.Pending)
	})
}

// A result that cannot be kept is no zero value in the next run.
//
//evidence:ledger
func TestResultThatCannotBeKept(t *testing.T) {
	onEachStore(t, func(b *bed) {
		step := ledger.Step[string]{Name: "text", System: "model", Recover: ledger.Retry, KeyWindow: ledger.Forever}
		calls := 0
		do := func() (string, error) {
			r, ctx := b.begin(step)
			defer r.End()
			return step.Do(ctx, func(context.Context, *ledger.Call) (string, error) {
				calls++
				return strings.Repeat("x", ledger.MaxResult), nil
			})
		}
		for range 2 {
			if got, err := do(); !parked(err) || !errors.Is(err, ledger.ErrNoResult) || got != "" || calls != 1 {
				b.Errorf("%d bytes, %v, %d calls", len(got), err, calls)
			}
		}
		if r := b.row("text"); !r.LacksResult() || r.Size != -1 || r.Error == "" {
			b.Errorf("%+v", r)
		}
	})
}

// A long result is there in the next run.
func TestLongResult(t *testing.T) {
	onEachStore(t, func(b *bed) {
		step := ledger.Step[string]{Name: "text", System: "model", Recover: ledger.Retry, KeyWindow: ledger.Forever}
		long := strings.Repeat("x", 200_000)
		for n := range 2 {
			r, ctx := b.begin(step)
			got, err := step.Do(ctx, func(context.Context, *ledger.Call) (string, error) {
				if n > 0 {
					b.Error("called again")
				}
				return long, nil
			})
			if r.End(); err != nil || got != long {
				b.Errorf("run %d: %d bytes, %v", n, len(got), err)
			}
		}
	})
}

// A call whose outcome is unknown is not made at another system, which knows neither the
// key nor the call.
func TestOtherSystem(t *testing.T) {
	onEachStore(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge, fails(&keys, io.EOF))
		moved := charge
		moved.System = "another"
		_, err := b.do(moved, fails(&keys, nil))
		if b.state("charge", ledger.Parked); !parked(err) || len(keys) != 1 || b.row("charge").System != charge.System {
			b.Errorf("%v, keys %v, %+v", err, keys, b.row("charge"))
		}
	})
	onEachStoreOf(t, "after an outcome that is known", func(b *bed) {
		var keys []string
		_, _ = b.do(charge, fails(&keys, ledger.NotSent(io.EOF)))
		moved := charge
		moved.System = "another"
		if _, err := b.do(moved, fails(&keys, nil)); err != nil || len(keys) != 2 || b.row("charge").System != moved.System {
			b.Errorf("%v, keys %v, %+v", err, keys, b.row("charge"))
		}
	})
}

// Steps of one run may be done at once, and a message has at most so many.
func TestMany(t *testing.T) {
	onEachStore(t, func(b *bed) {
		r, ctx := b.begin(charge)
		defer r.End()
		errs := make(chan error, 20)
		for n := range 20 {
			go func() {
				_, err := charge.Of(fmt.Sprint(n)).Do(ctx, func(context.Context, *ledger.Call) (invoice, error) { return invoice{}, nil })
				errs <- err
			}()
		}
		for range 20 {
			if err := <-errs; err != nil {
				b.Error(err)
			}
		}
		if n := b.Count("SELECT count(*) FROM headrace_steps WHERE state = 'done'"); n != 20 {
			b.Errorf("%d are done", n)
		}
		b.Exec("INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at)" +
			" WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000)" +
			" SELECT s.scope, s.key, 'charge/x' || n.i, s.system, 'failed', 'c', '', s.last_call_at, s.changed_at FROM headrace_steps AS s, n WHERE s.step = 'charge/0'")
	})
	onEachStoreOf(t, "more than 1000 in one run", func(b *bed) {
		_, _ = b.do(charge, func(*ledger.Call) (invoice, error) { return invoice{}, nil })
		b.Exec("INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at)" +
			" WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 997)" +
			" SELECT s.scope, s.key, 'charge/x' || n.i, s.system, 'failed', 'c', '', s.last_call_at, s.changed_at FROM headrace_steps AS s, n")
		r, ctx := b.begin(charge)
		defer r.End()
		for n := range 4 { // two more make 1000
			_, err := charge.Of(fmt.Sprint(n)).Do(ctx, func(context.Context, *ledger.Call) (invoice, error) { return invoice{}, nil })
			if (err != nil) != (n >= 2) || err != nil && !retry.IsPermanent(err) {
				b.Errorf("step %d: %v", 999+n, err)
			}
		}
	})
	onEachStoreOf(t, "more than 1000", func(b *bed) {
		_, _ = b.do(charge, func(*ledger.Call) (invoice, error) { return invoice{}, nil })
		b.Exec("INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at)" +
			" WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 999)" +
			" SELECT s.scope, s.key, 'charge/x' || n.i, s.system, 'failed', 'c', '', s.last_call_at, s.changed_at FROM headrace_steps AS s, n")
		if _, err := b.do(charge.Of("new"), func(*ledger.Call) (invoice, error) { b.Error("called"); return invoice{}, nil }); !retry.IsPermanent(err) {
			b.Errorf("%v", err)
		}
	})
}

// A store that is away holds the step, and costs nothing.
func TestStoreAway(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.Store.Down.Store(true)
		time.AfterFunc(50*time.Millisecond, func() { b.Store.Down.Store(false) })
		if _, err := b.do(charge, func(*ledger.Call) (invoice, error) { return invoice{"inv_1"}, nil }); err != nil {
			b.Error(err)
		}
		b.state("charge", ledger.Done)
		b.Store.Down.Store(true)
		defer b.Store.Down.Store(false)
		r, ctx := b.begin(charge)
		defer r.End()
		short, cancel := context.WithTimeout(ctx, time.Second)
		defer cancel()
		_, err := charge.Of("2").Do(short, func(context.Context, *ledger.Call) (invoice, error) { b.Error("called"); return invoice{}, nil })
		if _, _, ok := retry.Postponed(err); !ok {
			b.Errorf("it is a failure of the message: %v", err)
		}
	})
}
