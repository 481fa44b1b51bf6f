package caution

import (
	"testing"
	"time"

	"github.com/headrace/headrace/instance"
)

func (r *rig) leases(what string, got, want int) {
	r.Helper()
	if got != want {
		r.Errorf("%s: %d leases, want %d", what, got, want)
	}
}

// While a process is cautious nothing is leased, so that what is written down is the only
// work; unless nothing is ever written down.
func TestNoLeaseInCautiousMode(t *testing.T) {
	for _, only := range []bool{false, true} {
		bubble(t, func(r *rig) {
			r.o.OnlyLeased = only
			r.other("dead", time.Hour, time.Minute)
			r.start()
			r.level(instance.Cautious)
			r.leases("cautious", r.g.Lease("h", 3), map[bool]int{false: 0, true: 3}[only])
			time.Sleep(time.Minute)
			r.leases("normal", r.g.Lease("h", 2), 2)
		})
	}
}

// A message that has to run alone waits while leases are in hand, off the line, and holds
// up nobody but further leases; then it is the only work.
func TestSuspectWaitsForLeases(t *testing.T) {
	watchful(t, func(r *rig) {
		r.leases("first", r.g.Lease("h", 2), 2)
		r.advice(instance.Wait, "suspect")
		company := r.advice(instance.Go, "a", "b")
		r.leases("promised to the suspect", r.g.Lease("h", 1), 0)
		r.g.GiveBack(1)
		r.advice(instance.Wait, "suspect")
		r.g.GiveBack(1)
		r.leases("still promised", r.g.Lease("h", 1), 0)
		waits := r.enter(r.Context(), "suspect")
		r.waits(waits) // for the company
		time.Sleep(promise)
		r.leases("it waits for its turn", r.g.Lease("h", 1), 0)
		company.leave()
		alone := r.now(waits)
		if alone.advice != instance.Go || r.running() != "suspect" {
			r.Errorf("%+v, %q is written down", alone, r.running())
		}
		r.leases("it runs", r.g.Lease("h", 1), 0)
		alone.leave()
		r.leases("afterwards", r.g.Lease("h", 1), 1)
	})
}

// A promise is not kept for one that never asks again.
func TestPromiseEnds(t *testing.T) {
	watchful(t, func(r *rig) {
		r.leases("first", r.g.Lease("h", 1), 1)
		r.advice(instance.Wait, "suspect")
		time.Sleep(promise - time.Millisecond)
		r.leases("promised", r.g.Lease("h", 1), 0)
		time.Sleep(time.Millisecond)
		r.leases("not any more", r.g.Lease("h", 1), 1)
	})
}

// A lease that is to be the only one waits for the others, is then the only one, and
// comes before new ones of other handlers.
func TestOnlyLease(t *testing.T) {
	bubble(t, func(r *rig) {
		r.start()
		r.leases("others", r.g.Lease("other", 2), 2)
		r.leases("claimed", r.g.Lease("h", 2), 2)
		if r.g.OnlyLease("h", 2) {
			r.Error("the only one beside two others")
		}
		r.g.GiveBack(2)
		if r.g.OnlyLease("other", 1) {
			r.Error("the only one beside another")
		}
		r.leases("promised to the first who asked", r.g.Lease("other", 1), 0)
		r.leases("but others are in hand", r.g.Lease("h", 2), 0)
		r.g.GiveBack(1)
		time.Sleep(promise - time.Millisecond)
		r.leases("others are still in hand", r.g.Lease("h", 2), 0) // which is promised anew
		time.Sleep(promise - time.Millisecond)
		r.g.GiveBack(1)
		r.leases("promised still", r.g.Lease("other", 1), 0)
		r.leases("its turn", r.g.Lease("h", 2), 1)
		if !r.g.OnlyLease("h", 1) {
			r.Error("nobody else has one")
		}
		r.leases("beside the only one", r.g.Lease("other", 1)+r.g.Lease("h", 1), 0)
		r.g.GiveBack(1)
		r.leases("afterwards", r.g.Lease("other", 2), 2)
	})
}
