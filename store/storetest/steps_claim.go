package storetest

import (
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

// answer is what a call of a step says.
type answer struct {
	changed bool
	err     error
}

// claimed has another process take the lease.
func (b *bundle) claimed(t *txn.Txn, l backlog.Lease) {
	b.Helper()
	if items := b.leaseIn(t, "another", time.Hour, 1); len(items) != 1 || items[0].RowID != l.RowID {
		b.Fatalf("the claim has taken %+v", items)
	}
}

// besideClaim makes a call of a step while a claim takes its lease. The call must wait for
// the claim, and then change nothing.
func (b *bundle) besideClaim(l backlog.Lease, call func() (bool, error)) {
	b.Helper()
	b.shift(101 * time.Hour) // its term is over
	claim := b.begin()
	defer claim.Rollback()
	b.claimed(claim, l)
	answered, done := make(chan answer, 1), atomic.Bool{}
	go func() {
		changed, err := call()
		answered <- answer{changed, err}
		done.Store(true)
	}()
	if b.harness.ConcurrentWriters {
		b.await("a call that waits or ends", func() bool {
			n, err := b.Waiters(b.ctx)
			b.must(err)
			return n > 0 || done.Load()
		})
	} else {
		time.Sleep(20 * time.Millisecond) // it is likely to wait then; the outcome is the same
	}
	b.must(b.Store.Commit(b.ctx, claim, nil))
	if a := <-answered; a.changed || a.err != nil {
		b.Errorf("a change beside a claim that has taken the lease: %t, %v", a.changed, a.err)
	}
}

// stepMarkBesideClaim: a mark waits for a claim of the lease that is under way, and begins
// nothing if that has taken it.
func stepMarkBesideClaim(b *bundle) {
	b.park("a", inbox.Waiting)
	l := b.stepLease()
	b.besideClaim(l, func() (bool, error) { return b.steps().Mark(b.ctx, l, stepOf("a", "invoice")) })
}

// stepRepeatBesideClaim: so does another call of a step.
func stepRepeatBesideClaim(b *bundle) {
	b.park("a", inbox.Waiting)
	l, r := b.stepLease(), stepOf("a", "invoice")
	b.markStep(r)
	next := r
	next.CallID = "c2"
	b.besideClaim(l, func() (bool, error) { return b.steps().Repeat(b.ctx, l, r, next) })
}

// stepOutcomeBesideClaim: so does what is decided about a call.
func stepOutcomeBesideClaim(b *bundle) {
	b.park("a", inbox.Waiting)
	l, r := b.stepLease(), stepOf("a", "invoice")
	b.markStep(r)
	r.State = ledger.Parked
	b.besideClaim(l, func() (bool, error) { return b.steps().RecordOutcome(b.ctx, l, r) })
}

// stepsMarkedBesideClaim: of marks that share a commit, one whose lease a claim is about to
// take waits for it, and begins nothing; no other one waits.
func stepsMarkedBesideClaim(b *bundle) {
	for _, key := range []string{"first", "free", "taken"} {
		b.park(key, inbox.Waiting)
	}
	l, free, taken := b.stepLease(), b.newLease("second holder", "second", 100*time.Hour), b.newLease("third holder", "third", time.Hour)
	b.shift(2 * time.Hour)
	claim, t := b.begin(), b.begin()
	b.claimed(claim, taken)
	b.lockLease(t, l)
	mark := func(l backlog.Lease, key string) <-chan answer {
		answered := make(chan answer, 1)
		go func() {
			changed, err := b.steps().Mark(b.ctx, l, stepOf(key, "invoice"))
			answered <- answer{changed, err}
		}()
		return answered
	}
	first := mark(l, "first")
	b.awaitWaiters(1)
	others, beside := mark(free, "free"), mark(taken, "taken")
	time.Sleep(20 * time.Millisecond) // so that they are likely to wait for the first; the outcome is the same
	t.Rollback()
	for key, answered := range map[string]<-chan answer{"first": first, "free": others} {
		select {
		case a := <-answered:
			b.is(true, a.changed, a.err)
		case <-time.After(waitTimeout):
			b.Fatalf("the mark of %q waits for the claim of another lease", key)
		}
	}
	b.must(b.Store.Commit(b.ctx, claim, nil))
	if a := <-beside; a.changed || a.err != nil {
		b.Errorf("a change beside a claim that has taken the lease: %t, %v", a.changed, a.err)
	}
}
