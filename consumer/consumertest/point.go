package consumertest

import (
	"slices"

	"github.com/headrace/headrace/internal/fault"
)

// Point is a place on the way of a message, at which a process can crash.
type Point string

// The points, in the order in which a message comes by them.
const (
	// AfterReceive: a message came from the broker; no handler has been given it.
	AfterReceive Point = Point(fault.AfterReceive)
	// AfterClaim: the message is claimed in an open transaction, or under a lease.
	AfterClaim Point = Point(fault.AfterClaim)
	// MidHandler: the handler has done all its work, and has not returned yet. Nothing is
	// committed, and what it did outside of its transaction stays.
	MidHandler Point = Point(fault.MidHandler)
	// BeforeCommit: the handler has returned; its transaction is about to commit.
	BeforeCommit Point = Point(fault.BeforeCommit)
	// AfterCommit: the effects are committed; the broker does not know yet.
	AfterCommit Point = Point(fault.AfterCommit)
	// AfterAck: the broker knows.
	AfterAck Point = Point(fault.AfterAck)

	// RelaySelected: the relay has read what a handler published.
	RelaySelected Point = Point(fault.RelaySelected)
	// RelayPublished: the Sink has taken it; the outbox does not know yet, so that the
	// next process publishes it again, under the same id.
	RelayPublished Point = Point(fault.RelayPublished)
	// RelayDeleting: it is about to leave the outbox.
	RelayDeleting Point = Point(fault.RelayDeleting)
	// RelayBeforeCommit and RelayAfterCommit stand about the commit by which it leaves.
	RelayBeforeCommit Point = Point(fault.RelayBeforeCommit)
	RelayAfterCommit  Point = Point(fault.RelayAfterCommit)

	// LetterBeforeCommit and LetterAfterCommit stand about the commit of a dead letter.
	LetterBeforeCommit Point = Point(fault.LetterBeforeCommit)
	LetterAfterCommit  Point = Point(fault.LetterAfterCommit)
)

// HandlerPoints are those that a message comes by which is applied, in order.
func HandlerPoints() []Point {
	return []Point{AfterReceive, AfterClaim, MidHandler, BeforeCommit, AfterCommit, AfterAck}
}

// RelayPoints are those that a published event comes by.
func RelayPoints() []Point {
	return []Point{RelaySelected, RelayPublished, RelayDeleting, RelayBeforeCommit, RelayAfterCommit}
}

// LetterPoints are those that a message comes by which becomes a dead letter.
func LetterPoints() []Point { return []Point{LetterBeforeCommit, LetterAfterCommit} }

// known are all of them.
func (p Point) known() bool {
	return slices.Contains(slices.Concat(HandlerPoints(), RelayPoints(), LetterPoints()), p)
}

// CrashAt has a process crash when it next comes to the point: it commits, publishes and
// acknowledges nothing any more, and its open transactions roll back. The next one is
// started on the same database then, and the broker delivers again what was not
// acknowledged. Of several points each stands for one crash, in this order.
//
// The crash is simulated in this process: statements that a handler sends on connections
// of its own are not cut off, and what it keeps in memory is still there. A crash whose
// point nobody came to by the end of the test fails it.
func (k *Kit) CrashAt(points ...Point) {
	k.t.Helper()
	for _, p := range points {
		if !p.known() {
			k.t.Fatalf("CrashAt(%q): there is no such point; see HandlerPoints, RelayPoints and LetterPoints", p)
		}
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.crashes = append(k.crashes, points...)
}

// at is the fault.Hook of the process.
func (p *process) at(point fault.Point) error {
	k := p.k
	k.mu.Lock()
	defer k.mu.Unlock()
	if point == fault.AfterAck {
		defer func() { p.acks <- struct{}{} }()
	}
	if p.dead {
		return errCrashed
	}
	if len(k.crashes) == 0 || fault.Point(k.crashes[0]) != point {
		return nil
	}
	k.crashes = k.crashes[1:]
	p.dead = true
	p.cut()
	p.stop()
	k.story.add("process %d CRASHED at %s", p.n, point)
	return errCrashed
}
