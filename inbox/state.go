package inbox

import (
	"time"

	"github.com/headrace/headrace"
)

// State says where a message is. No row means that the inbox never had it.
type State string

// The states of an inbox row.
const (
	// Done: the effects are committed.
	Done State = "done"
	// Waiting: the backlog owns the message.
	Waiting State = "waiting"
	// Dead: the dead-letter table owns it.
	Dead State = "dead"
	// Discarded: a person discarded the dead letter.
	Discarded State = "discarded"
)

// Ended reports whether a message in this state runs no more.
func (s State) Ended() bool { return s == Done || s == Discarded }

// ID names a message: Key is unique within Scope.
type ID struct {
	Scope string `json:"scope"`
	Key   string `json:"key"`
}

// Entry is an inbox row.
type Entry struct {
	ID
	State State
	// Fingerprint is that of the message with the key.
	Fingerprint string
	// Stale says that the message was out of date (ErrStale): nothing was applied.
	Stale bool
	// At is when State was entered, by the database's clock. Stores set it.
	At time.Time
	// Wait is how a Waiting message waits, as Find reads it; zero otherwise.
	Wait Wait
}

// Wait is how a message waits in the backlog.
type Wait struct {
	// Status is "ready", "delayed", "blocked" behind an earlier message of its order key,
	// "leasable" or "leased".
	Status string
	// Due is when a delayed message becomes ready, or its lease ends; zero if neither.
	Due time.Time
	// Postponed is since when the message has been postponed (retry.Postpone) without an
	// attempt; zero if it is not.
	Postponed time.Time
	// Reason is the error with which its latest run asked to be postponed, or lost
	// against other transactions; "" if that run was an attempt.
	Reason string
}

// Attempt is a run of a handler that failed.
type Attempt struct {
	ID
	// N counts from 1 and continues after redrives. Stores set it.
	N int
	// Class is the class of the failure (retry.Class).
	Class string
	// Error is the error's message, capped; ErrorType its Go type.
	Error, ErrorType string
	// Duration is how long the handler ran.
	Duration time.Duration
	// Host and Build say which process ran it.
	Host, Build string
	// Trace is the trace context of the run's message.
	Trace headrace.TraceContext
	// Ago is how long ago it failed when it is recorded. Attempts does not return it.
	Ago time.Duration
	// At is when it failed, by the database's clock. Stores set it.
	At time.Time
}
