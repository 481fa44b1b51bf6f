package storetest

import (
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

var stepTests = []test{
	{name: "a step is marked once", run: stepMarkedOnce},
	{name: "a step is marked again by who knows its state", run: stepRepeated},
	{name: "the first result of a step is recorded, and no other", run: stepDoneOnce},
	{name: "an outcome is recorded for the latest call alone", run: stepOutcome},
	{name: "a new generation begins a new window", run: stepWindow},
	{name: "what a second call made is kept beside the first", run: stepDouble},
	{name: "a long result is read on demand", run: stepLongResult},
	{name: "an open step is seen in the transaction", run: stepOpen},
	{name: "the open steps of several messages", run: stepOpenOfSeveral},
	{name: "steps are found and searched", run: stepSearch},
	{name: "messages with a step that needs a person", run: stepBlocking},
	{name: "a person resolves a step", run: stepResolve},
	{name: "results of a message that ended are erased", run: stepErase},
	{name: "of many marks of a step one counts", run: stepMarkedAtOnce},
	{name: "marks that share a commit are each told whether they hold", run: stepsMarkedTogether},
	{name: "results that share a commit are kept as they are", run: stepsDoneTogether},
	{name: "without the lease nothing begins", run: stepWithoutLease},
	{name: "a mark waits for a claim of its lease", run: stepMarkBesideClaim},
	{name: "of marks that share a commit one waits for a claim of its lease", run: stepsMarkedBesideClaim, needs: concurrentWriters},
	{name: "another call waits for a claim of its lease", run: stepRepeatBesideClaim},
	{name: "an outcome waits for a claim of its lease", run: stepOutcomeBesideClaim},
}

// stepOf is a first call of a step of the message key.
func stepOf(key, step string) ledger.Row {
	return ledger.Row{ID: id(key), Step: step, System: "erp", State: ledger.Pending, CallID: "c1", InputHash: "in", Unsettled: 4 * time.Hour}
}

func (b *bundle) steps() ledger.Store     { return b.Store.Operations().Steps }
func (b *bundle) stepAdmin() ledger.Admin { return b.Store.Operations().StepAdmin }

// holder is the key of a message under the lease held, for tests of steps.
const holder, held = "holder", "held"

// stepLease returns a lease that is held; steps do not look whose it is.
func (b *bundle) stepLease() backlog.Lease {
	b.Helper()
	if b.rowID(b.DB, holder) < 0 {
		return b.newLease(holder, held, 100*time.Hour)
	}
	return b.leaseOf(holder, held)
}

func (b *bundle) markedStep(want bool, l backlog.Lease, r ledger.Row) {
	b.Helper()
	got, err := b.steps().Mark(b.ctx, l, r)
	b.is(want, got, err)
}

func (b *bundle) markStep(r ledger.Row) {
	b.Helper()
	b.markedStep(true, b.stepLease(), r)
}

func (b *bundle) recorded(want bool, r ledger.Row) {
	b.Helper()
	got, err := b.steps().RecordDone(b.ctx, r)
	b.is(want, got, err)
}

func (b *bundle) doneStep(r ledger.Row) {
	b.Helper()
	b.recorded(true, r)
}

func (b *bundle) outcome(want bool, r ledger.Row) {
	b.Helper()
	got, err := b.steps().RecordOutcome(b.ctx, backlog.Lease{}, r)
	b.is(want, got, err)
}

func (b *bundle) double(want bool, r ledger.Row) {
	b.Helper()
	got, err := b.steps().RecordDouble(b.ctx, r)
	b.is(want, got, err)
}

func (b *bundle) repeat(want bool, was, r ledger.Row) {
	b.Helper()
	got, err := b.steps().Repeat(b.ctx, b.stepLease(), was, r)
	b.is(want, got, err)
}

// is fails the test unless a change was made, or not, as wanted.
func (b *bundle) is(want, got bool, err error) {
	b.Helper()
	if err != nil || got != want {
		b.Fatalf("changed: %t, %v", got, err)
	}
}

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

func (b *bundle) sameStep(got, want ledger.Row) {
	b.Helper()
	if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(ledger.Row{}, "Age", "Idle", "Changed", "Unsettled")); diff != "" {
		b.Errorf("step (-want +got):\n%s", diff)
	}
}

func stepMarkedOnce(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "invoice")
	b.markStep(r)
	other := r
	other.CallID = "c2"
	b.markedStep(false, b.stepLease(), other)
	r.Calls, r.Size = 1, -1
	b.sameStep(b.theStep("a"), r)
	if rows := b.list("b"); len(rows) != 0 {
		b.Errorf("another message has %+v", rows)
	}
	b.shift(time.Hour)
	if got := b.theStep("a"); got.Age < time.Hour || got.Idle < time.Hour || got.Changed.IsZero() || !roughly(got.Unsettled, 3*time.Hour) {
		b.Errorf("times: %+v", got)
	}
	bad := stepOf("a", strings.Repeat("x", 2000))
	if _, err := b.steps().Mark(b.ctx, b.stepLease(), bad); err == nil {
		b.Error("a name of 2000 bytes was taken")
	}
}

func stepRepeated(b *bundle) {
	b.park("a", inbox.Waiting)
	was := stepOf("a", "invoice")
	b.markStep(was)
	b.shift(time.Hour)
	next := was
	next.CallID, next.InputHash, next.System, next.Unsettled = "c2", "in2", "erp2", time.Hour
	b.repeat(true, was, next)
	b.repeat(false, was, next) // it is of another call now
	got := b.theStep("a")
	next.Calls, next.Size = 2, -1
	b.sameStep(got, next)
	if got.Age < time.Hour || got.Idle > time.Minute || !roughly(got.Unsettled, 3*time.Hour) { // the first one may be worked on for longer
		b.Errorf("the first call is %s old, the latest %s; they may be worked on for %s", got.Age, got.Idle, got.Unsettled)
	}
	longer := next
	longer.CallID, longer.Unsettled = "c3", 5*time.Hour
	b.repeat(true, next, longer)
	if got := b.theStep("a"); !roughly(got.Unsettled, 5*time.Hour) {
		b.Errorf("the latest call may be worked on for %s", got.Unsettled)
	}
	next = longer
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
	b.recorded(false, later)
	b.outcome(false, later)
	b.repeat(false, later, later)
	r.State, r.Calls, r.Size = ledger.Done, 2, 8
	b.sameStep(b.theStep("a"), r)

	parked := stepOf("a", "payout")
	b.markStep(parked)
	parked.State, parked.Error = ledger.Parked, "unknown"
	b.outcome(true, parked)
	parked.Via, parked.Error = ledger.ViaCall, "no result"
	b.doneStep(parked) // a late answer, without a result that could be kept
	if got := b.list("a")[1]; !got.LacksResult() || got.Size != -1 || got.Result != nil || got.Error != "no result" {
		b.Errorf("%+v", got)
	}
	b.recorded(false, stepOf("a", "none"))
}

func stepOutcome(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "invoice")
	b.markStep(r)
	for _, state := range []ledger.State{ledger.Pending, ledger.Failed} {
		r.State, r.Error = state, string(state)
		b.outcome(true, r)
		if got := b.theStep("a"); got.State != state || got.Error != string(state) {
			b.Errorf("%+v", got)
		}
	}
	b.outcome(false, r) // it is not pending any more
	next := r
	next.State, next.CallID = ledger.Pending, "c2"
	b.repeat(true, r, next)
	b.outcome(false, r) // of an earlier call
	next.State = ledger.Skipped
	b.outcome(true, next)
}

func stepWindow(b *bundle) {
	b.park("a", inbox.Waiting)
	r := stepOf("a", "charge")
	b.markStep(r)
	r.State, r.Generation = ledger.Failed, 1
	b.outcome(true, r)
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
	b.outcome(true, next)
	b.shift(2 * time.Hour)
	third := next
	third.CallID, third.Generation = "c3", 2
	b.repeat(true, next, third)
	if got := b.theStep("a"); got.Age > time.Minute || got.Generation != 2 {
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
	known := []string{"invoice"}
	look := func() (r ledger.Row, open bool) {
		b.in(func(t *txn.Txn) {
			all, err := b.steps().Open(b.ctx, t, []inbox.ID{id("none"), id("a")}, known)
			b.must(err)
			r, open = all[id("a")]
			if len(all) > 1 || open && r.ID != id("a") {
				b.Errorf("%+v", all)
			}
		})
		return r, open
	}
	if r, open := look(); open {
		b.Errorf("open without a step: %+v", r)
	}
	r := stepOf("a", "invoice")
	b.markStep(r)
	if got, open := look(); !open || got.Step != "invoice" || got.System != "erp" || got.State != ledger.Pending {
		b.Errorf("%+v", got)
	}
	r.State = ledger.Parked
	b.outcome(true, r)
	if got, open := look(); !open || got.State != ledger.Parked {
		b.Errorf("%+v", got)
	}
	r.Via = ledger.ViaCall
	b.doneStep(r)
	if _, open := look(); open {
		b.Error("a step that is done is open")
	}
	mail := stepOf("a", "mail/1")
	b.markStep(mail)
	for _, known = range [][]string{{"invoice"}, {}} { // what is open comes first
		if got, open := look(); !open || got.Step != "mail/1" {
			b.Errorf("with %v known: %+v", known, got)
		}
	}
	mail.State = ledger.Failed
	b.outcome(true, mail)
	if got, open := look(); !open || got.Step != "invoice" || got.State != ledger.Done {
		b.Errorf("a step that is not known: %+v", got)
	}
	known = []string{"x", "invoice"}
	if got, open := look(); open {
		b.Errorf("a step that has failed: %+v", got)
	}
	r.State = ledger.Parked
	b.outcome(true, r) // its result is missed
	if got, open := look(); !open || got.State != ledger.Parked {
		b.Errorf("a step whose result a person must give is not open: %+v", got)
	}
}

// stepOpenOfSeveral: each message has its own answer.
func stepOpenOfSeveral(b *bundle) {
	for key, step := range map[string]string{"a": "invoice", "b": "mail"} {
		b.park(key, inbox.Waiting)
		b.markStep(stepOf(key, step))
	}
	b.in(func(t *txn.Txn) {
		all, err := b.steps().Open(b.ctx, t, []inbox.ID{id("a"), id("b"), id("c")}, nil)
		b.must(err)
		if len(all) != 2 || all[id("a")].Step != "invoice" || all[id("b")].Step != "mail" {
			b.Errorf("of two messages: %+v", all)
		}
	})
}

// stepMarkedAtOnce: of many that mark a step at once, one begins the call.
func stepMarkedAtOnce(b *bundle) {
	b.park("a", inbox.Waiting)
	l := b.stepLease()
	var marked atomic.Int64
	var all sync.WaitGroup
	for n := range 8 {
		all.Go(func() {
			r := stepOf("a", "invoice")
			r.CallID = fmt.Sprint("c", n)
			won, err := b.steps().Mark(b.ctx, l, r)
			if err != nil {
				b.Error(err)
			}
			if won {
				marked.Add(1)
			}
		})
	}
	all.Wait()
	if n := marked.Load(); n != 1 {
		b.Errorf("%d have marked it", n)
	}
	if got := b.theStep("a"); got.Calls != 1 {
		b.Errorf("%+v", got)
	}
}

// stepWithoutLease: without the lease nothing begins, and nothing is decided about a call;
// a result and an outcome of one's own call are recorded.
func stepWithoutLease(b *bundle) {
	b.park("a", inbox.Waiting)
	l, r := b.stepLease(), stepOf("a", "invoice")
	for _, lost := range []backlog.Lease{{RowID: l.RowID, Token: "another"}, {RowID: l.RowID + 1, Token: l.Token}, {}} {
		b.markedStep(false, lost, r)
	}
	b.markStep(r)
	lost, next, parked := backlog.Lease{RowID: l.RowID, Token: "another"}, r, r
	next.CallID, parked.State = "c2", ledger.Parked
	got, err := b.steps().Repeat(b.ctx, lost, r, next)
	b.is(false, got, err)
	got, err = b.steps().RecordOutcome(b.ctx, lost, parked)
	b.is(false, got, err)
	if got := b.theStep("a"); got.State != ledger.Pending || got.CallID != r.CallID {
		b.Errorf("%+v", got)
	}
	got, err = b.steps().RecordOutcome(b.ctx, l, parked)
	b.is(true, got, err)
}
