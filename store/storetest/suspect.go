package storetest

import (
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

var suspectTests = []test{
	{name: "suspect mode begins, moves and ends", run: suspectMode},
	{name: "in suspect mode a first call is not marked as one", run: suspectMark},
	{name: "in suspect mode no first call is marked in a shared commit", run: suspectMarks},
	{name: "in suspect mode a call that failed before it is not repeated as such", run: suspectRepeat},
	{name: "in suspect mode a lost call began after its message", run: suspectTimes},
}

func (b *bundle) suspect() ledger.SuspectStore { return b.Store.Operations().Suspect }

// beginSuspect begins the mode, and returns it.
func (b *bundle) beginSuspect(until time.Time) ledger.SuspectMode {
	b.Helper()
	b.in(func(t *txn.Txn) {
		b.must(b.suspect().Begin(b.ctx, t, ledger.SuspectMode{Until: until, By: "ana", Reason: "a restore"}))
	})
	return b.mode()
}

func (b *bundle) mode() ledger.SuspectMode {
	b.Helper()
	m, err := b.suspect().Get(b.ctx)
	b.must(err)
	return m
}

func (b *bundle) endSuspect(want bool) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		if was, err := b.suspect().End(b.ctx, t); err != nil || was != want {
			b.Errorf("the mode was on: %t, %v", was, err)
		}
	})
}

func suspectMode(b *bundle) {
	if m := b.mode(); m != (ledger.SuspectMode{}) || m.Covers(time.Time{}) {
		b.Errorf("at first: %+v", m)
	}
	b.endSuspect(false)
	until := time.Now().UTC().Truncate(time.Microsecond)
	first := b.beginSuspect(until)
	if !first.Until.Equal(until) || first.Since.IsZero() || first.By != "ana" || first.Reason != "a restore" {
		b.Errorf("%+v", first)
	}
	if !first.Covers(until.Add(-time.Microsecond)) || !first.Covers(time.Time{}) || first.Covers(until) {
		b.Errorf("it covers the wrong messages")
	}
	b.shift(time.Hour)
	if moved := b.beginSuspect(until.Add(time.Hour)); !moved.Until.Equal(until.Add(time.Hour)) || !moved.Since.Equal(first.Since) {
		b.Errorf("moved: %+v", moved)
	}
	b.endSuspect(true)
	if m := b.mode(); m != (ledger.SuspectMode{}) {
		b.Errorf("after its end: %+v", m)
	}
}

// openStep records that a call may be lost, in a transaction of its own.
func (b *bundle) openStep(want bool, r ledger.Row) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		b.Helper()
		got, err := b.suspect().MarkOpen(b.ctx, t, r)
		b.is(want, got, err)
	})
}

func suspectMark(b *bundle) {
	until := time.Now().UTC()
	b.beginSuspect(until)
	for key, sent := range map[string]time.Time{"unknown": {}, "before": until.Add(-time.Second)} {
		b.park(key, inbox.Waiting)
		r := stepOf(key, "invoice")
		r.Sent = sent
		b.markedStep(false, b.stepLease(), r)
		b.openStep(true, r)
		b.openStep(false, r)
		r.Size, r.Sent = -1, time.Time{}
		b.sameStep(b.theStep(key), r) // pending, with no call
	}
	b.park("after", inbox.Waiting)
	r := stepOf("after", "invoice")
	r.Sent = until.Add(time.Second)
	b.openStep(false, r)
	b.markedStep(true, b.stepLease(), r)
	b.endSuspect(true)
	b.park("ended", inbox.Waiting)
	b.openStep(false, stepOf("ended", "invoice"))
	b.markStep(stepOf("ended", "invoice"))
}

// suspectMarks: of marks that share a commit, suspect mode refuses those that it covers.
func suspectMarks(b *bundle) {
	b.park("first", inbox.Waiting)
	b.park("a", inbox.Waiting)
	l, until := b.stepLease(), time.Now().UTC()
	other := b.newLease("second holder", "second", 100*time.Hour)
	b.beginSuspect(until)
	mark := func(l backlog.Lease, key string, n int, sent time.Time) func() {
		return func() {
			r := stepOf(key, fmt.Sprint("step ", n))
			r.Sent = sent
			covered := sent.Before(until)
			if got, err := b.steps().Mark(b.ctx, l, r); err != nil || got == covered {
				b.Errorf("marked a step whose message suspect mode covers (%t): %t, %v", covered, got, err)
			}
		}
	}
	sent := []time.Time{{}, until.Add(-time.Microsecond), until, until.Add(time.Hour)}
	var calls []func()
	for n := range together {
		calls = append(calls, mark(other, "a", n, sent[n%len(sent)]))
	}
	b.behind(func(t *txn.Txn) { b.lockLease(t, l) }, mark(l, "first", 0, until), calls...)
	if n := len(b.list("a")); n != together/2 {
		b.Errorf("%d steps, want %d", n, together/2)
	}
}

func suspectRepeat(b *bundle) {
	b.park("a", inbox.Waiting)
	failed := func(call string) ledger.Row {
		r := stepOf("a", "invoice")
		r.CallID, r.State = call, ledger.Failed
		b.outcome(true, r)
		return r
	}
	b.markStep(stepOf("a", "invoice"))
	was := failed("c1")
	b.shift(time.Hour)
	until := b.beginSuspect(time.Now().Add(time.Hour)).Until
	next := stepOf("a", "invoice")
	next.CallID = "c2"
	b.repeat(false, was, next)
	after := next
	after.Sent = until // its message came later
	b.openStep(false, after)
	b.openStep(true, next)
	if got := b.theStep("a"); got.State != ledger.Pending || got.Calls != 0 || got.CallID != "c2" || got.Age < time.Hour {
		b.Errorf("%+v", got)
	}
	// What failed since the mode began is known to have failed.
	b.shift(2 * time.Hour)
	was = failed("c2")
	next.CallID = "c3"
	b.openStep(false, next)
	b.repeat(true, was, next)
}

func suspectTimes(b *bundle) {
	now := time.Now()
	b.shift(10 * time.Hour)
	b.beginSuspect(now.Add(9 * time.Hour))
	for key, sent := range map[string]time.Time{"known": now.Add(8 * time.Hour), "unknown": {}} {
		b.park(key, inbox.Waiting)
		r := stepOf(key, "invoice")
		r.Sent = sent
		b.openStep(true, r)
	}
	// The latest time of a lost call is the mode's, the earliest that of the message.
	if got := b.theStep("known"); !roughly(got.Idle, time.Hour) || !roughly(got.Age, 2*time.Hour) || !roughly(got.Unsettled, 3*time.Hour) {
		b.Errorf("the lost call began %s ago, and the first %s; it may be worked on for %s", got.Idle, got.Age, got.Unsettled)
	}
	if got := b.theStep("unknown"); !roughly(got.Idle, time.Hour) || got.Age < 10*365*24*time.Hour {
		b.Errorf("the lost call began %s ago, and the first %s", got.Idle, got.Age)
	}
	b.beginSuspect(now.Add(100 * time.Hour))
	b.park("later", inbox.Waiting)
	b.openStep(true, stepOf("later", "invoice"))
	if got := b.theStep("later"); got.Idle < 0 || got.Idle > time.Minute {
		b.Errorf("a call began %s ago: the mode's time is still to come", got.Idle)
	}
}

// roughly reports whether two durations differ by less than ten minutes.
func roughly(a, b time.Duration) bool { return (a - b).Abs() < 10*time.Minute }
