package steps_test

import (
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/retry"
)

// decide records what a person says of the step "charge", some time after its latest call.
func (b *bed) decide(v resolve.Decision, change func(*resolve.Resolution)) {
	b.Helper()
	b.pass(time.Hour)
	r := resolve.Resolution{ID: b.one.ID(), Step: "charge", Decision: v, By: "ana", Reason: "looked it up"}
	if change != nil {
		change(&r)
	}
	if _, err := resolve.New(b.Store.Store).Resolve(b.Context(), r); err != nil {
		b.Fatal(err)
	}
}

// After a person's Again the step is called with the same key, whatever its input is now: the
// call may have landed after all, and the system then drops or refuses this one.
//
//evidence:ledger
func TestAgainKeepsTheKey(t *testing.T) {
	onEachDriver(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge.Input(1), fails(&keys, io.EOF))
		if _, err := b.do(charge.Input(2), fails(&keys, nil)); !parked(err) || len(keys) != 1 {
			b.Fatalf("%v, keys %v", err, keys)
		}
		b.decide(resolve.Again, nil)
		_, _ = b.do(charge.Input(2), fails(&keys, ledger.NotSent(errBoom)))
		_, err := b.do(charge.Input(3), fails(&keys, nil))
		if b.state("charge", ledger.Done); err != nil || len(keys) != 3 || keys[1] != keys[0] || keys[2] != keys[0] {
			b.Errorf("%v, keys %v", err, keys)
		}
	})
}

// The error of a step that was renamed names it as it is recorded, so that a person finds it,
// and the letters from before and after the release are one group.
//
//evidence:ledger
func TestParkedUnderAFormerName(t *testing.T) {
	onEachDriver(t, func(b *bed) {
		var keys []string
		old := charge
		old.Recover, old.KeyWindow = ledger.Park, 0
		_, first := b.do(old, fails(&keys, io.EOF))
		renamed := old
		renamed.Name, renamed.Was = "payment", []string{"charge"}
		_, err := b.do(renamed, fails(&keys, nil))
		asks, ok := errors.AsType[*ledger.ParkedError](err)
		if !ok || first == nil || err.Error() != first.Error() {
			b.Fatalf("%v after %v", err, first)
		}
		b.decide(resolve.Again, func(r *resolve.Resolution) { r.Step = asks.Step })
		if _, err := b.do(renamed, fails(&keys, nil)); err != nil || len(keys) != 2 || keys[0] != keys[1] {
			b.Errorf("%v, keys %v", err, keys)
		}
		r := resolve.Resolution{ID: b.one.ID(), Step: "payment", Decision: resolve.Done, By: "ana", Reason: "looked it up"}
		if _, err := resolve.New(b.Store.Store).Resolve(b.Context(), r); !errors.Is(err, resolve.ErrNotFound) || !strings.Contains(err.Error(), `its steps are "charge"`) {
			b.Errorf("under the new name: %v", err)
		}
	})
}

// A status that refuses the key that a person had repeated may say that the first call has
// landed: no new key without that person's word.
//
//evidence:ledger
func TestStatusAfterAgain(t *testing.T) {
	onEachDriver(t, func(b *bed) {
		var keys []string
		_, _ = b.do(charge.Input(1), fails(&keys, io.EOF))
		_, _ = b.do(charge.Input(2), fails(&keys, nil))
		b.decide(resolve.Again, nil)
		for range 2 {
			if _, err := b.do(charge.Input(2), fails(&keys, statusRefused())); !parked(err) || len(keys) != 2 || keys[0] != keys[1] {
				b.Errorf("%v, keys %v", err, keys)
			}
		}
		b.decide(resolve.Anew, nil)
		if _, err := b.do(charge.Input(2), fails(&keys, statusRefused())); parked(err) || len(keys) != 3 || keys[1] == keys[2] {
			b.Errorf("under a new key: %v, keys %v", err, keys)
		}
		b.state("charge", ledger.Failed)
	})
}

// A person's result counts for the input that the step has now, also where a call with
// another one was recorded as done.
//
//evidence:ledger
func TestDoneCountsForAnyInput(t *testing.T) {
	for name, first := range map[string]error{"open": io.EOF, "done": nil} {
		t.Run(name, func(t *testing.T) {
			onEachDriver(t, func(b *bed) {
				var keys []string
				_, _ = b.do(charge.Input(1), fails(&keys, first))
				if _, err := b.do(charge.Input(2), fails(&keys, nil)); !retry.IsPermanent(err) {
					b.Fatalf("%v", err)
				}
				b.decide(resolve.Done, func(r *resolve.Resolution) { r.Result, r.Force = []byte(`{"ID":"inv_7"}`), first == nil })
				if got, err := b.do(charge.Input(2), fails(&keys, nil)); err != nil || got.ID != "inv_7" || len(keys) != 1 {
					b.Errorf("%+v, %v, keys %v", got, err, keys)
				}
			})
		})
	}
}

// A person who says that a step is done, and gives no result, is asked for it: the row says
// so, and the result may be given without force.
//
//evidence:ledger
func TestDoneWithoutItsResult(t *testing.T) {
	onEachDriver(t, func(b *bed) {
		step := charge
		step.Recover, step.KeyWindow = ledger.Park, 0
		var keys []string
		_, _ = b.do(step, fails(&keys, io.EOF))
		b.decide(resolve.Done, nil)
		for range 2 {
			if _, err := b.do(step, fails(&keys, nil)); !parked(err) || !strings.Contains(err.Error(), "gave no result") {
				b.Errorf("%v", err)
			}
			if r := b.row("charge"); !r.LacksResult() || !strings.Contains(r.Error, "gave no result") {
				b.Errorf("%+v", r)
			}
		}
		b.decide(resolve.Done, func(r *resolve.Resolution) { r.Result = []byte(`{"ID":"inv_7"}`) })
		if got, err := b.do(step, fails(&keys, nil)); err != nil || got.ID != "inv_7" || len(keys) != 1 {
			b.Errorf("%+v, %v, keys %v", got, err, keys)
		}
	})
}

// What is recorded and of no use says what a person can do, and that helps.
func TestUselessResult(t *testing.T) {
	onEachDriver(t, func(b *bed) {
		const words = "headrace steps resolve SCOPE KEY STEP --done"
		var keys []string
		_, _ = b.do(charge.Input(1), fails(&keys, nil))
		_, err := b.do(charge.Input(2), fails(&keys, nil))
		if !errors.Is(err, ledger.ErrInput) || !strings.Contains(err.Error(), words+" --force") {
			b.Errorf("another input: %v", err)
		}
		b.decide(resolve.Done, func(r *resolve.Resolution) { r.Force = true })
		if _, err := b.do(charge.Input(2), fails(&keys, nil)); err != nil || len(keys) != 1 {
			b.Errorf("the recorded result, accepted: %v, keys %v", err, keys)
		}
		b.decide(resolve.Done, func(r *resolve.Resolution) { r.Result, r.Force = []byte("7"), true })
		if _, err := b.do(charge, fails(&keys, nil)); err == nil || !strings.Contains(err.Error(), words+" --result FILE --force") {
			b.Errorf("another type: %v", err)
		}
		number := ledger.Sent{ID: b.one.ID(), Step: "approval", Value: []byte("7")}
		if err := resolve.New(b.Store.Store).Send(b.Context(), number); err != nil {
			b.Fatal(err)
		}
		if _, err := b.awaits(0); err == nil || !strings.Contains(err.Error(), words+" --result FILE --force") {
			b.Errorf("a signal of another type: %v", err)
		}
		b.decide(resolve.Done, func(r *resolve.Resolution) { r.Step, r.Result, r.Force = "approval", []byte(`"yes"`), true })
		if got, err := b.awaits(0); err != nil || got != "yes" {
			b.Errorf("%q, %v", got, err)
		}
	})
}
