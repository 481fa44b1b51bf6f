package inbox

import (
	"time"

	"github.com/headrace/headrace"
)

// State says where a message is. No row means that it was never taken.
type State string

// The states of an inbox row.
const (
	// Done: the effects are committed.
	Done State = "done"
	// Waiting: the backlog owns the message.
	Waiting State = "waiting"
	// Dead: the dead-letter table owns it.
	Dead State = "dead"
	// Discarded: a person gave the dead letter up.
	Discarded State = "discarded"
)

// ID names a message: Key is unique within Scope.
type ID struct {
	Scope string
	Key   string
}

// Entry is an inbox row.
type Entry struct {
	ID
	State State
	// Fingerprint is that of the message which has the key.
	Fingerprint string
	// Stale says that the handler found the message out of date (ErrStale): the
	// state is Done and nothing was applied.
	Stale bool
	// At is when State was entered, by the database's clock. Stores set it.
	At time.Time
}

// Attempt is a run of a handler that failed.
type Attempt struct {
	ID
	// N counts from 1 and goes on over redrives. Stores set it.
	N int
	// Class is the class of the failure (retry.Class).
	Class string
	// Error is the error's message, capped; ErrorType its Go type.
	Error     string
	ErrorType string
	// Duration is how long the handler ran.
	Duration time.Duration
	// Host and Build say who ran it.
	Host  string
	Build string
	// Trace is the trace context of the run's message.
	Trace headrace.TraceContext
	// Ago is how long before it is recorded it failed; 0 where it is recorded at once.
	// It is not read back.
	Ago time.Duration
	// At is when it failed, by the database's clock. Stores set it.
	At time.Time
}
