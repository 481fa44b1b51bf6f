package consumertest

import (
	"slices"
	"time"

	"github.com/headrace/headrace/internal/fault"
)

// Point is a point in the handling of a message at which a process can crash.
type Point string

// The points, in the order in which a message reaches them.
const (
	// AfterReceive: the broker delivered a message; no handler has it yet.
	AfterReceive Point = Point(fault.AfterReceive)
	// AfterClaim: the message is claimed in an open transaction, or under a lease.
	AfterClaim Point = Point(fault.AfterClaim)
	// MidHandler: the handler did all its work but has not returned yet. Nothing is
	// committed; effects outside of its transaction stay.
	MidHandler Point = Point(fault.MidHandler)
	// BeforeCommit: the handler has returned; its transaction is about to commit.
	BeforeCommit Point = Point(fault.BeforeCommit)
	// AfterCommit: the effects are committed; the message is not acknowledged yet.
	AfterCommit Point = Point(fault.AfterCommit)
	// AfterAck: the message is acknowledged.
	AfterAck Point = Point(fault.AfterAck)

	// RelaySelected: the relay has read an event of a handler.
	RelaySelected Point = Point(fault.RelaySelected)
	// RelayPublished: the Sink took the event, but it is still in the outbox. The next
	// process publishes it again, under the same id.
	RelayPublished Point = Point(fault.RelayPublished)
	// RelayDeleting: the relay is about to delete the event from the outbox.
	RelayDeleting Point = Point(fault.RelayDeleting)
	// RelayBeforeCommit and RelayAfterCommit are before and after the commit of that.
	RelayBeforeCommit Point = Point(fault.RelayBeforeCommit)
	RelayAfterCommit  Point = Point(fault.RelayAfterCommit)

	// StepMarked: a step of a leased handler (package ledger) is marked; its call has not
	// begun.
	StepMarked Point = Point(fault.StepMarked)
	// StepCalled: the call of a step has returned its result, which is not recorded.
	StepCalled Point = Point(fault.StepCalled)
	// StepRecorded: the result of a step is recorded.
	StepRecorded Point = Point(fault.StepRecorded)

	// LetterBeforeCommit and LetterAfterCommit are before and after the commit of a dead
	// letter.
	LetterBeforeCommit Point = Point(fault.LetterBeforeCommit)
	LetterAfterCommit  Point = Point(fault.LetterAfterCommit)
)

// HandlerPoints are the points that a message reaches when its handler succeeds, in order.
// An event for a handler of consumer.Local and a webhook (Kit.Post) come from no broker:
// they reach neither AfterReceive nor AfterAck.
func HandlerPoints() []Point {
	return []Point{AfterReceive, AfterClaim, MidHandler, BeforeCommit, AfterCommit, AfterAck}
}

// RelayPoints are the points that a published event reaches.
func RelayPoints() []Point {
	return []Point{RelaySelected, RelayPublished, RelayDeleting, RelayBeforeCommit, RelayAfterCommit}
}

// LetterPoints are the points that a message reaches when it becomes a dead letter.
func LetterPoints() []Point { return []Point{LetterBeforeCommit, LetterAfterCommit} }

// StepPoints are the points that a step of a leased handler reaches.
func StepPoints() []Point { return []Point{StepMarked, StepCalled, StepRecorded} }

// known reports whether p is one of the points above.
func (p Point) known() bool {
	return slices.Contains(slices.Concat(HandlerPoints(), RelayPoints(), LetterPoints(), StepPoints()), p)
}

// CrashAt makes a process crash when it next reaches the point: it commits, publishes and
// acknowledges nothing more, and its open transactions roll back. Then another process
// starts on the same database, and the broker delivers the unacknowledged messages again.
// Each of several points is one crash, in this order.
//
// The kit simulates the crash in this process: statements that a handler sends on other
// connections are not cut off, and the process keeps its memory. If no process reaches
// the point by the end of the test, the test fails.
func (k *Kit) CrashAt(points ...Point) {
	k.t.Helper()
	for _, p := range points {
		if !p.known() {
			k.t.Fatalf("CrashAt(%q): there is no such point; see HandlerPoints, RelayPoints, LetterPoints and StepPoints", p)
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
	for _, c := range p.all {
		c.Runtime().DrainTimeout = time.Millisecond // work under way must not finish
	}
	p.stop()
	k.story.add("process %d CRASHED at %s", p.n, point)
	return errCrashed
}
