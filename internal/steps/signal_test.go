package steps_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/retry"
)

var approval = ledger.Signal[string]{Name: "approval", Timeout: time.Hour}

// awaits runs the message, whose process is killed after the commit of that number; 0 is none.
func (b *bed) awaits(killAfter int64) (string, error) {
	b.Helper()
	r, ctx := b.begin(charge, approval)
	defer r.End()
	r.killAfter.Store(killAfter)
	return approval.Await(ctx)
}

// A process that is killed after a commit of Await leaves a row from which the next run goes
// on: the time of the wait does not begin anew, and a signal that came too late stays out.
//
//evidence:signal
func TestKilledInAwait(t *testing.T) {
	onEachStore(t, func(b *bed) {
		_, _ = b.awaits(1) // it waits, and its process ends before the message is put off
		b.state("approval", ledger.Awaiting)
		b.pass(20 * time.Minute)
		_, err := b.awaits(0)
		delay, bound, ok := retry.Postponed(err)
		if !ok || delay > 40*time.Minute || delay < 39*time.Minute || bound < delay {
			b.Errorf("%s within %s: %v", delay, bound, err)
		}
		b.pass(41 * time.Minute)
		_, _ = b.awaits(1) // the time is over, and its process ends
		b.state("approval", ledger.Expired)
		for range 2 {
			if _, err := b.awaits(0); !errors.Is(err, ledger.ErrNoSignal) || !retry.IsPermanent(err) {
				b.Errorf("%v", err)
			}
		}
	})
}

// A signal that was sent before the run is there, and each run gets it.
//
//evidence:signal
func TestSignalBeforeAwait(t *testing.T) {
	onEachStore(t, func(b *bed) {
		if err := approval.Send(b.Context(), resolve.New(b.Store.Store), b.one.ID(), "yes"); err != nil {
			b.Fatal(err)
		}
		for range 2 {
			if got, err := b.awaits(0); err != nil || got != "yes" {
				b.Errorf("%q, %v", got, err)
			}
		}
	})
}

// A lost lease begins no wait, and a wait whose COMMIT has no answer goes on.
func TestAwaitUnderTheLease(t *testing.T) {
	onEachStore(t, func(b *bed) {
		_, ctx := b.begin(charge, approval)
		b.Store.Swallow(1)
		if _, err := approval.Await(ctx); !isPostponed(err) {
			b.Errorf("%v", err)
		}
		b.state("approval", ledger.Awaiting)
		b.Exec("DELETE FROM headrace_steps")
		_, ctx = b.begin(charge, approval)
		b.takeOver()
		if _, err := approval.Await(ctx); !errors.Is(err, ledger.ErrLost) || b.row("approval").State != "" {
			b.Errorf("%v", err)
		}
	})
}

func isPostponed(err error) bool { _, _, ok := retry.Postponed(err); return ok }

// A signal is declared, and is none of the steps.
func TestSignalIsDeclared(t *testing.T) {
	onEachStore(t, func(b *bed) {
		_, ctx := b.begin(charge)
		if _, err := approval.Await(ctx); !errors.Is(err, ledger.ErrUndeclared) {
			b.Errorf("%v", err)
		}
		if _, err := approval.Await(b.Context()); !errors.Is(err, ledger.ErrNotLeased) {
			b.Errorf("%v", err)
		}
		if _, err := b.do(charge, func(*ledger.Call) (invoice, error) { return invoice{"ch"}, nil }); err != nil {
			b.Fatal(err)
		}
		_, ctx = b.begin(ledger.Signal[string]{Name: "charge", Timeout: time.Hour})
		_, err := ledger.Signal[string]{Name: "charge", Timeout: time.Hour}.Await(ctx)
		if err == nil || !strings.Contains(err.Error(), "a step of this name") {
			b.Errorf("a step became a signal: %v", err)
		}
	})
}
