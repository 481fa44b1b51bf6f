package storetest

import (
	"context"
	"strings"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

var signalTests = []test{
	{name: "a signal is awaited, and sent once", run: signalSent},
	{name: "a signal whose time is over is awaited no more", run: signalExpired},
	{name: "a message that waits is due when its signal is sent", run: signalDue},
	{name: "a signal is no step", run: signalNoStep},
	{name: "a signal may come before its message, for a time", run: signalEarly},
}

func (b *bundle) signals() ledger.Signals { return b.Store.Operations().Signals }

// signalOf is the signal "approval" of the message key, as it is sent.
func signalOf(key string) ledger.Row {
	return ledger.Row{ID: id(key), Step: "approval", Result: []byte(`{"ok":true}`), By: "ana", Reason: "budget\x00"}
}

// signalChange runs f for r in a transaction.
func (b *bundle) signalChange(want bool, r ledger.Row, f func(ctx context.Context, t *txn.Txn, r ledger.Row) (bool, error)) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		b.Helper()
		got, err := f(b.ctx, t, r)
		b.is(want, got, err)
	})
}

func (b *bundle) awaitSignal(want bool, r ledger.Row, d time.Duration) {
	b.Helper()
	b.signalChange(want, r, func(ctx context.Context, t *txn.Txn, r ledger.Row) (bool, error) {
		return b.signals().Await(ctx, t, r, d)
	})
}

func (b *bundle) waitsForSignal(want bool, key string) {
	b.Helper()
	b.in(func(t *txn.Txn) {
		if got, err := b.signals().Waits(b.ctx, t, id(key), "approval"); err != nil || got != want {
			b.Errorf("%s waits: %t, %v", key, got, err)
		}
	})
}

//evidence:signal
func signalSent(b *bundle) {
	b.wait(item("a"), item("b"))
	b.waitsForSignal(false, "a")
	b.awaitSignal(true, signalOf("a"), time.Hour)
	b.awaitSignal(false, signalOf("a"), 2*time.Hour) // its time does not begin anew
	b.waitsForSignal(true, "a")
	if r := b.theStep("a"); r.State != ledger.Awaiting || r.System != "" || r.Age > -59*time.Minute || r.Age < -time.Hour || r.Size != -1 || r.Via != "" {
		b.Errorf("%+v", r)
	}
	b.in(func(t *txn.Txn) {
		if open, err := b.steps().Open(b.ctx, t, []inbox.ID{id("a")}, []string{"approval"}); err != nil || open[id("a")].State != ledger.Awaiting {
			b.Errorf("%+v, %v", open, err)
		}
	})
	for _, key := range []string{"a", "b"} { // b has not awaited it yet
		b.signalChange(true, signalOf(key), b.signals().Send)
		b.signalChange(false, signalOf(key), b.signals().Send)
		b.waitsForSignal(false, key)
		r := b.theStep(key)
		if r.State != ledger.Done || r.Via != ledger.ViaSignal || string(r.Result) != `{"ok":true}` || r.By != "ana" || !strings.HasPrefix(r.Reason, "budget") {
			b.Errorf("%+v", r)
		}
		b.awaitSignal(false, signalOf(key), time.Hour)
		b.signalChange(false, signalOf(key), b.signals().Expire)
	}
	counts, err := b.stepAdmin().Count(b.ctx, "", 0)
	if b.must(err); counts[ledger.Awaiting] != 0 {
		b.Errorf("%v", counts)
	}
}

//evidence:signal
func signalExpired(b *bundle) {
	b.wait(item("a"))
	b.awaitSignal(true, signalOf("a"), time.Hour)
	counts, err := b.stepAdmin().Count(b.ctx, "", 0)
	if b.must(err); counts[ledger.Awaiting] != 1 {
		b.Errorf("%v", counts)
	}
	if rows, err := b.stepAdmin().Search(b.ctx, ledger.Filter{}, 9); err != nil || len(rows) != 0 {
		b.Errorf("a signal is in the review: %+v, %v", rows, err)
	}
	if rows, err := b.stepAdmin().Search(b.ctx, ledger.Filter{State: ledger.Awaiting}, 9); err != nil || len(rows) != 1 {
		b.Errorf("%+v, %v", rows, err)
	}
	b.signalChange(true, signalOf("a"), b.signals().Expire)
	b.signalChange(false, signalOf("a"), b.signals().Expire)
	b.signalChange(false, signalOf("a"), b.signals().Send)
	b.awaitSignal(false, signalOf("a"), time.Hour)
	if r := b.theStep("a"); r.State != ledger.Expired || r.Error == "" {
		b.Errorf("%+v", r)
	}
}

//evidence:signal
func signalDue(b *bundle) {
	first := later(item("a"), time.Hour)
	first.Postponed = time.Hour
	b.wait(first, later(item("b"), time.Hour))
	due := func() []string {
		entries, err := b.Store.Inbox().Find(b.ctx, "a")
		b.must(err)
		if e := entries[0]; time.Until(e.Wait.Due) < time.Minute && e.Wait.Postponed.IsZero() {
			return []string{"a"}
		}
		return nil
	}
	if len(due()) != 0 {
		b.Fatal("due before")
	}
	b.in(func(t *txn.Txn) {
		for key, want := range map[string]inbox.State{"a": inbox.Waiting, "unknown": "", "nul\x00": ""} {
			state, row, err := b.signals().Lock(b.ctx, t, id(key))
			if b.must(err); state != want || (row != 0) != (want == inbox.Waiting) {
				b.Errorf("%s: %q, row %d", key, state, row)
			}
			if row != 0 {
				b.must(b.signals().Due(b.ctx, t, row))
			}
		}
	})
	if len(due()) != 1 {
		b.Error("not due")
	}
	if n := b.promote(9); n != 1 {
		b.Errorf("%d promoted", n)
	}
}

func signalNoStep(b *bundle) {
	b.wait(item("a"))
	step := stepOf("a", "approval")
	b.markStep(step)
	step.State = ledger.Failed
	b.outcome(true, step)
	b.awaitSignal(false, signalOf("a"), time.Hour)
	b.signalChange(false, signalOf("a"), b.signals().Send)
}

//evidence:signal
func signalEarly(b *bundle) {
	early := func(want bool, key string) {
		b.Helper()
		b.signalChange(want, signalOf(key), func(ctx context.Context, t *txn.Txn, r ledger.Row) (bool, error) {
			return b.signals().SendEarly(ctx, t, r, time.Hour)
		})
	}
	for _, key := range []string{"comes", "stays away"} {
		early(true, key)
		early(false, key)
	}
	b.wait(item("comes"), item("waits"))
	b.awaitSignal(false, signalOf("comes"), time.Hour)
	if r := b.theStep("comes"); r.State != ledger.Done || r.Via != ledger.ViaSignal || string(r.Result) != `{"ok":true}` || r.By != "ana" {
		b.Errorf("%+v", r)
	}
	b.awaitSignal(true, signalOf("waits"), time.Hour)
	early(false, "waits") // the caller looks again
	for _, want := range []int{0, 1, 0} {
		if n, err := b.Store.Operations().Pruner.Expired(b.ctx, 10); n != want || err != nil {
			b.Errorf("%d early signals are removed, want %d; %v", n, want, err)
		}
		b.shift(2 * time.Hour)
	}
	if len(b.list("stays away")) != 0 || len(b.list("comes")) != 1 || len(b.list("waits")) != 1 {
		b.Error("the wrong signal was removed")
	}
}
