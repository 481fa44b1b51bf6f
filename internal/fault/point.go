package fault

import (
	"database/sql/driver"
	"fmt"
)

// Point is a point in the handling of a message.
type Point string

// The points.
const (
	// AfterReceive: a message came from the source; no handler has it yet.
	AfterReceive Point = "after-receive"
	// AfterClaim: a message is claimed in an open transaction, from the source, the
	// backlog or under a lease.
	AfterClaim Point = "after-claim"
	// MidHandler: handlers reach it themselves, after some of their effects.
	MidHandler Point = "mid-handler"
	// BeforeCommit: everything of a work transaction is written but its outbox rows.
	BeforeCommit Point = "before-commit"
	// AfterCommit: a work transaction is committed; nothing is acknowledged yet.
	AfterCommit Point = "after-commit"
	// BeforeAck: an ack or nack is about to go out. An error keeps it from going out.
	BeforeAck Point = "before-ack"
	// AfterAck: an acknowledgement went out.
	AfterAck Point = "after-ack"

	// RelaySelected: the relay has read rows of the outbox under the lock of their shard.
	RelaySelected Point = "relay-selected"
	// RelayPublished: the sink has confirmed messages. Publish returns the hook's error.
	RelayPublished Point = "relay-published"
	// RelayDeleting: published rows are about to be deleted.
	RelayDeleting Point = "relay-deleting"
	// RelayBeforeCommit and RelayAfterCommit are before and after the commit of the
	// relay.
	RelayBeforeCommit Point = "relay-before-commit"
	RelayAfterCommit  Point = "relay-after-commit"

	// LetterBeforeCommit and LetterAfterCommit are before and after the commit of a dead
	// letter.
	LetterBeforeCommit Point = "letter-before-commit"
	LetterAfterCommit  Point = "letter-after-commit"

	// RedriveBeforeCommit and RedriveAfterCommit are before and after the commit of a
	// redrive.
	RedriveBeforeCommit Point = "redrive-before-commit"
	RedriveAfterCommit  Point = "redrive-after-commit"

	// StepMarked: a step of a leased handler is marked; its call begins now.
	StepMarked Point = "step-marked"
	// StepCalled: the call of a step has returned a result, which is about to be recorded.
	StepCalled Point = "step-called"
	// StepRecorded: the result of a step is recorded.
	StepRecorded Point = "step-recorded"

	// PruneBetween: a batch of a prune is committed, and others follow.
	PruneBetween Point = "prune-between"

	// Call is before every call that begins or commits a transaction, pings, writes
	// without one, subscribes or publishes. It is for hooks that end a process for good.
	Call Point = "call"
)

// Points are those that a message passes, in the order above, without BeforeAck, Call and
// those of steps.
var Points = []Point{
	AfterReceive, AfterClaim, MidHandler, BeforeCommit, AfterCommit, AfterAck,
	RelaySelected, RelayPublished, RelayDeleting, RelayBeforeCommit, RelayAfterCommit,
	LetterBeforeCommit, LetterAfterCommit, RedriveBeforeCommit, RedriveAfterCommit, PruneBetween,
}

// Hook is called at points, from any goroutine. Nil goes on; with an error the call
// fails as by a lost connection.
type Hook func(Point) error

// reach calls the hook, and makes a lost connection of its error.
func (at Hook) reach(p Point) error {
	if err := at(p); err != nil {
		return fmt.Errorf("%s: %w: %w", p, err, driver.ErrBadConn)
	}
	return nil
}
