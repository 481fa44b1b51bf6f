package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

var stepTests = []test{
	{name: "a step is marked once", run: stepMarkedOnce},
	{name: "a step is marked again by who knows its state", run: stepRepeated},
	{name: "a result is recorded once, from whoever has it", run: stepDoneOnce},
	{name: "an outcome is recorded for the latest call alone", run: stepOutcome},
	{name: "a new generation begins a new window", run: stepWindow},
	{name: "what a second call made is kept beside the first", run: stepDouble},
	{name: "a long result is read on demand", run: stepLongResult},
	{name: "an open step is seen in the transaction", run: stepOpen},
	{name: "steps are found and searched", run: stepSearch},
	{name: "a person resolves a step", run: stepResolve},
	{name: "results of a message that ended are erased", run: stepErase},
	{name: "a first call waits for another that is being marked", run: stepMarkedAtOnce},
}

// stepOf is a first call of a step of the message key.
func stepOf(key, step string) ledger.Row {
	return ledger.Row{ID: id(key), Step: step, System: "erp", State: ledger.Pending, CallID: "c1", InputHash: "in"}
}

func (b *bundle) steps() ledger.Store    { return b.Store.Operations().Steps }
func (b *bundle) stepDesk() ledger.Admin { return b.Store.Operations().StepAdmin }
func (b *bundle) markStep(r ledger.Row)  { b.changed(true, r, b.steps().Mark) }
func (b *bundle) doneStep(r ledger.Row)  { b.changed(true, r, b.steps().RecordDone) }
func (b *bundle) list(key string) []ledger.Row {
	b.Helper()
	rows, err := b.steps().List(b.ctx, id(key))
	b.must(err)
	return rows
}

// theStep is the only step of a message, without what the clock says.
func (b *bundle) theStep(key string) ledger.Row {
	b.Helper()
	rows := b.list(key)
	if len(rows) != 1 {
		b.Fatalf("%d steps", len(rows))
	}
	return rows[0]
}

// changed runs f for r in a transaction.
func (b *bundle) changed(want bool, r ledger.Row, f func(ctx context.Context, t *txn.Txn, r ledger.Row) (bool, error)) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		b.Helper()
		if got, err := f(b.ctx, t, r); err != nil || got != want {
			b.Fatalf("%s %s: %t, %v", r.Step, r.State, got, err)
		}
	})
}

func (b *bundle) repeat(want bool, was, r ledger.Row) {
	b.Helper()
	b.changed(want, r, func(ctx context.Context, t *txn.Txn, r ledger.Row) (bool, error) {
		return b.steps().Repeat(ctx, t, was, r)
	})
}

func (b *bundle) sameStep(got, want ledger.Row) {
	b.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(ledger.Row{}, "Age", "Idle", "Changed")); diff != "" {
		b.Errorf("step (-want +got):\n%s", diff)
	}
}

func stepMarkedOnce(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "invoice")
	b.markStep(r)
	other := r
	other.CallID = "c2"
	b.changed(false, other, b.steps().Mark)
	r.Calls, r.Size = 1, -1
	b.sameStep(b.theStep("a"), r)
	if rows := b.list("b"); len(rows) != 0 {
		b.Errorf("another message has %+v", rows)
	}
	b.shift(time.Hour)
	if got := b.theStep("a"); got.Age < time.Hour || got.Idle < time.Hour || got.Changed.IsZero() {
		b.Errorf("times: %+v", got)
	}
	bad := stepOf("a", strings.Repeat("x", 2000))
	b.in(func(t *txn.Txn) {
		if _, err := b.steps().Mark(b.ctx, t, bad); err == nil {
			b.Error("a name of 2000 bytes was taken")
		}
	})
}

func stepRepeated(b *bundle) {
	b.park("a", inbox.Waiting)
	was := stepOf("a", "invoice")
	b.markStep(was)
	b.shift(time.Hour)
	next := was
	next.CallID, next.InputHash, next.System = "c2", "in2", "erp2"
	b.repeat(true, was, next)
	b.repeat(false, was, next) // it is of another call now
	got := b.theStep("a")
	next.Calls, next.Size = 2, -1
	b.sameStep(got, next)
	if got.Age < time.Hour || got.Idle > time.Minute {
		b.Errorf("the first call is %s old, the latest %s", got.Age, got.Idle)
	}
	failed := got
	failed.State = ledger.Failed
	b.repeat(false, failed, next) // in another state
}

func stepDoneOnce(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "invoice")
	b.markStep(r)
	later := r
	later.CallID = "c2"
	b.repeat(true, r, later)
	r.Generation, r.Result, r.ExternalID, r.Via = 3, []byte(`{"id":1}`), "inv_1", ledger.ViaCall // the first one answers at last
	b.doneStep(r)
	later.Result, later.ExternalID, later.Via = []byte(`{"id":2}`), "inv_2", ledger.ViaCall
	b.changed(false, later, b.steps().RecordDone)
	b.changed(false, later, b.steps().RecordOutcome)
	b.repeat(false, later, later)
	r.State, r.Calls, r.Size = ledger.Done, 2, 8
	b.sameStep(b.theStep("a"), r)

	parked := stepOf("a", "payout")
	b.markStep(parked)
	parked.State, parked.Error = ledger.Parked, "unknown"
	b.changed(true, parked, b.steps().RecordOutcome)
	parked.Via, parked.Error = ledger.ViaCall, "no result"
	b.doneStep(parked) // a late answer, without a result that could be kept
	if got := b.list("a")[1]; got.State != ledger.Done || got.Size != -1 || got.Result != nil || got.Error != "no result" {
		b.Errorf("%+v", got)
	}
	b.changed(false, stepOf("a", "none"), b.steps().RecordDone)
}

func stepOutcome(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "invoice")
	b.markStep(r)
	for _, state := range []ledger.State{ledger.Pending, ledger.Failed} {
		r.State, r.Error = state, string(state)
		b.changed(true, r, b.steps().RecordOutcome)
		if got := b.theStep("a"); got.State != state || got.Error != string(state) {
			b.Errorf("%+v", got)
		}
	}
	b.changed(false, r, b.steps().RecordOutcome) // it is not pending any more
	next := r
	next.State, next.CallID = ledger.Pending, "c2"
	b.repeat(true, r, next)
	b.changed(false, r, b.steps().RecordOutcome) // of an earlier call
	next.State = ledger.Skipped
	b.changed(true, next, b.steps().RecordOutcome)
}

func stepWindow(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "charge")
	b.markStep(r)
	r.State, r.Generation = ledger.Failed, 1
	b.changed(true, r, b.steps().RecordOutcome)
	b.shift(time.Hour)
	if got := b.theStep("a"); got.Age != 0 || got.Generation != 1 {
		b.Errorf("a generation without a call: %+v", got)
	}
	next := r
	next.CallID = "c2"
	b.repeat(true, r, next)
	if got := b.theStep("a"); got.Age > time.Minute {
		b.Errorf("the window of the new key began %s ago", got.Age)
	}
	next.State = ledger.Failed
	b.changed(true, next, b.steps().RecordOutcome)
	b.shift(2 * time.Hour)
	third := next
	third.CallID, third.Generation = "c3", 2
	b.repeat(true, next, third)
	if got := b.theStep("a"); got.Age > time.Minute || got.Generation != 2 {
		b.Errorf("%+v", got)
	}
}

func stepDouble(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "invoice")
	b.markStep(r)
	r.Via, r.ExternalID, r.OtherID = ledger.ViaCall, "inv_1", "inv_1"
	b.changed(false, r, b.steps().RecordDouble) // it is not done
	b.doneStep(r)
	b.changed(false, r, b.steps().RecordDouble) // it is the same call
	second := r
	second.CallID, second.OtherID = "c2", "inv_2"
	b.changed(true, second, b.steps().RecordDouble)
	second.CallID, second.OtherID = "c3", "inv_3"
	b.changed(false, second, b.steps().RecordDouble)
	if got := b.theStep("a"); got.ExternalID != "inv_1" || got.OtherID != "inv_2" {
		b.Errorf("%+v", got)
	}
}

func stepLongResult(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "classify")
	b.markStep(r)
	r.Via, r.Result = ledger.ViaCall, []byte(`"`+strings.Repeat("x", 70_000)+`"`)
	b.doneStep(r)
	if got := b.theStep("a"); got.Result != nil || got.Size != len(r.Result) {
		b.Errorf("%d bytes of %d", len(got.Result), got.Size)
	}
	result, err := b.steps().Result(b.ctx, r.ID, r.Step)
	if err != nil || string(result) != string(r.Result) {
		b.Errorf("%d bytes, %v", len(result), err)
	}
	if none, err := b.steps().Result(b.ctx, r.ID, "none"); none != nil || err != nil {
		b.Errorf("%q, %v", none, err)
	}
}

func stepOpen(b *bundle) {
	b.park("a", inbox.Waiting)
	look := func(t *txn.Txn) (ledger.Row, bool) {
		r, open, err := b.steps().Open(b.ctx, t, id("a"))
		b.must(err)
		return r, open
	}
	b.in(func(t *txn.Txn) {
		if r, open := look(t); open {
			b.Errorf("open without a step: %+v", r)
		}
		r := stepOf("a", "invoice")
		_, err := b.steps().Mark(b.ctx, t, r)
		b.must(err)
		if got, open := look(t); !open || got.Step != "invoice" || got.System != "erp" || got.State != ledger.Pending {
			b.Errorf("%+v", got)
		}
		r.State = ledger.Parked
		_, err = b.steps().RecordOutcome(b.ctx, t, r)
		b.must(err)
		if got, open := look(t); !open || got.State != ledger.Parked {
			b.Errorf("%+v", got)
		}
		r.Via = ledger.ViaCall
		_, err = b.steps().RecordDone(b.ctx, t, r)
		b.must(err)
		if _, open := look(t); open {
			b.Error("a step that is done is open")
		}
	})
}

// stepMarkedAtOnce: of two that mark a step at once, one begins the call.
func stepMarkedAtOnce(b *bundle) {
	b.park("a", inbox.Waiting)
	first := b.begin()
	defer first.Rollback()
	if ok, err := b.steps().Mark(b.ctx, first, stepOf("a", "invoice")); !ok || err != nil {
		b.Fatalf("%t, %v", ok, err)
	}
	second := make(chan bool, 1)
	go func() {
		r := stepOf("a", "invoice")
		r.CallID = "c2"
		var marked bool
		err := store.Transact(b.ctx, b.Store, func(t *txn.Txn) (err error) {
			marked, err = b.steps().Mark(b.ctx, t, r)
			return err
		})
		second <- marked || err != nil
	}()
	b.must(b.Store.Commit(b.ctx, first, nil))
	if <-second {
		b.Error("both have marked it")
	}
	if got := b.theStep("a"); got.CallID != "c1" || got.Calls != 1 {
		b.Errorf("%+v", got)
	}
}
