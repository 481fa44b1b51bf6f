package caution

import "github.com/headrace/headrace/instance"

// Lease asks for up to n leases for the leased handler called who, counts as many as it
// returns as in hand, and does not wait. It returns 0 while the process is cautious,
// while a message runs alone, and while another has been promised to be next. Leases
// that were not taken, or have ended, go back with GiveBack.
func (g *Guard) Lease(who string, n int) int {
	if g.Level() == instance.Cautious && !g.o.OnlyLeased {
		return 0
	}
	return g.turns.lease(who, n)
}

// OnlyLease asks for one of the n leases that who was given by Lease to be the only one
// in hand, because its message has lost others; the rest of n are given back by the
// caller. It reports false where others are in hand: then nobody is given leases until
// those have ended and who has asked again.
func (g *Guard) OnlyLease(who string, n int) bool { return g.turns.onlyLease(who, n) }

// GiveBack says that n leases are not in hand any more.
func (g *Guard) GiveBack(n int) { g.turns.giveBack(n) }
