package steps_test

import (
	"context"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

// Two builds of a release that renames a step work on one message in turn: the old one does not
// know the new name.
var (
	oldCharge = charge
	newCharge = func() ledger.Step[invoice] {
		s := charge
		s.Name, s.Was = "payment", []string{"charge"}
		return s
	}()
)

// A call of the new build did nothing, and then the old build calls: the new one finds that
// call, whatever came of it, and not the row of its own.
//
//evidence:ledger
func TestRenameWithBothBuilds(t *testing.T) {
	for name, c := range map[string]struct {
		old   error
		calls int
		made  int
	}{
		"done":    {nil, 2, 1},
		"unknown": {io.ErrUnexpectedEOF, 3, 1},
		"nothing": {ledger.NotSent(errBoom), 3, 1},
	} {
		onEachStoreOf(t, name, func(b *bed) {
			var keys, made []string
			_, _ = b.do(newCharge, fails(&keys, ledger.NotSent(errBoom)))
			_, _ = b.do(oldCharge, func(call *ledger.Call) (invoice, error) {
				keys = append(keys, call.Key)
				if ledger.CertaintyOf(c.old, nil) != ledger.CertainlyNotSent {
					made = append(made, call.Key)
				}
				return invoice{"inv_1"}, c.old
			})
			_, err := b.do(newCharge, func(call *ledger.Call) (invoice, error) {
				keys = append(keys, call.Key)
				if !slices.Contains(made, call.Key) {
					made = append(made, call.Key)
				}
				return invoice{"inv_1"}, nil
			})
			if err != nil || len(keys) != c.calls || len(made) != c.made {
				b.Errorf("%v, keys %v, charged under %v", err, keys, made)
			}
			if n := b.Count("SELECT count(*) FROM headrace_steps WHERE state = 'done'"); n != 1 {
				b.Errorf("%d steps are done", n)
			}
		})
	}
}

// secondRow has the old build call once more although a row has the new name.
func (b *bed) secondRow(answer func(*ledger.Call) (invoice, error)) {
	b.Helper()
	b.Exec("UPDATE headrace_steps SET step = 'payment'")
	r, ctx := b.begin(oldCharge, ledger.Gone("payment"))
	defer r.End()
	_, _ = oldCharge.Do(ctx, func(_ context.Context, c *ledger.Call) (invoice, error) { return answer(c) })
}

// Two calls under two names of a step were carried out: that is seen, told once, and stays in
// the check.
//
//evidence:ledger
func TestDoubleUnderTwoNames(t *testing.T) {
	for _, id := range []string{"", "ch_"} {
		onEachStoreOf(t, "id "+id, func(b *bed) {
			n := 0
			makes := func(c *ledger.Call) (invoice, error) {
				if n++; id != "" {
					c.SetID(fmt.Sprint(id, n))
				}
				return invoice{fmt.Sprint("inv_", n)}, nil
			}
			_, _ = b.do(oldCharge, makes)
			b.secondRow(makes)
			for range 2 {
				if got, err := b.do(newCharge, makes); err != nil || got.ID != "inv_1" || n != 2 {
					b.Fatalf("%+v, %v, %d calls", got, err, n)
				}
			}
			if r := b.row("payment"); r.OtherID == "" || id != "" && r.OtherID != "ch_2" {
				b.Errorf("%+v", r)
			}
			if sent := b.told(); len(sent) != 1 || sent[0] != ledger.Doubled {
				b.Errorf("alerts %v", sent)
			}
		})
	}
}

// Of two calls under two names one is open: a person says what came of it, under its name,
// before anything else is called.
//
//evidence:ledger
func TestOpenUnderAnotherName(t *testing.T) {
	for name, first := range map[string]error{"done": nil, "open": io.ErrUnexpectedEOF} {
		onEachStoreOf(t, name, func(b *bed) {
			var keys []string
			_, _ = b.do(oldCharge, fails(&keys, first))
			b.secondRow(fails(&keys, io.ErrUnexpectedEOF))
			if _, err := b.do(newCharge, fails(&keys, nil)); !parked(err) || len(keys) != 2 {
				b.Fatalf("%v, keys %v", err, keys)
			}
			b.state("charge", ledger.Parked)
			b.decide(resolve.Again, nil)
			calls := map[error]int{nil: 2, io.ErrUnexpectedEOF: 3}[first]
			if _, err := b.do(newCharge, fails(&keys, nil)); err != nil || len(keys) != calls || keys[len(keys)-1] != keys[calls-1] {
				b.Errorf("%v, keys %v", err, keys)
			}
			b.state("payment", ledger.Done)
			b.state("charge", ledger.Failed)
		})
	}
	onEachStoreOf(t, "skipped", func(b *bed) {
		mail := ledger.Step[struct{}]{Name: "charge", System: "mail", Recover: ledger.Skip}
		calls := 0
		do := func(s ledger.Step[struct{}], gone ...ledger.Declared) error {
			r, ctx := b.begin(append(gone, s)...)
			defer r.End()
			_, err := s.Do(ctx, func(context.Context, *ledger.Call) (struct{}, error) { calls++; return struct{}{}, nil })
			return err
		}
		_ = do(mail)
		b.Exec("UPDATE headrace_steps SET step = 'payment'")
		_ = do(mail, ledger.Gone("payment"))
		b.Exec("UPDATE headrace_steps SET state = 'pending', via = '', result = NULL WHERE step = 'charge'")
		renamed := mail
		renamed.Name, renamed.Was = "payment", []string{"charge"}
		if err := do(renamed); err != nil || calls != 2 {
			b.Errorf("%v, %d calls", err, calls)
		}
		b.state("charge", ledger.Skipped)
	})
}
