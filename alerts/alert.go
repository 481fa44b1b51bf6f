package alerts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Alert is one thing that people should know, or several that say the same. Fields
// that do not apply are empty. It holds names and counts: no payload, key, message
// id or words of an error.
type Alert struct {
	// ID names the alert. It is the same each time that the alert is tried or sent
	// again, but for one of several Groups, which may hold others by then.
	ID   string
	Kind Kind
	// Consumer, Handler and Topic say where. An alert of a row of the outbox has no
	// Consumer, since all consumers of a database share the relay.
	Consumer string
	Handler  string
	Topic    string
	// Class is, for a dead letter, why it was given up (see dlq.Class); of the newest.
	Class string
	// ErrorPrint groups dead letters that failed for the same reason: it is what
	// "headrace dlq ls --group" takes.
	ErrorPrint string
	// LetterID is the newest dead letter of those that the alert tells of; 0 if there
	// is none.
	LetterID int64
	// Text says in one sentence what happened and what to do.
	Text string
	// Count is how many happened since the last alert of the group; 0 means 1. Where a
	// kind takes another one back (Resumed and Paused), only the newest of them is told,
	// and counts those of both that were not.
	Count int64
	// Groups is how many groups an alert sums up, where too many are due at once;
	// 0 means 1. Handler, Topic, Class, ErrorPrint and LetterID are then empty.
	Groups int64
	// Since is when the first of Count happened, At when the newest did: by the
	// database's clock if the Kind is Stored, else by this process's.
	Since time.Time
	At    time.Time
}

// Group names the alerts that say the same: one of them is sent in a quiet period,
// and it counts the others. Its length is bounded.
func (a Alert) Group() string {
	kind, topic := a.Kind, ""
	switch kind {
	case FirstDeadLetter:
		kind = DeadLetter
	case RowParked:
		topic = a.Topic
	}
	return string(kind) + "/" + digest(a.Consumer, a.Handler, topic, a.ErrorPrint)
}

// digest is a short name of parts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write([]byte(part + "\x00")) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Hook passes an alert on. Calls come one at a time, from a goroutine that does no
// other work: what it does, and how long, never holds up or rolls back a message.
// ctx ends after 10 seconds, and when the consumer closes.
//
// An error or a panic means that the alert was not passed on: it is tried again
// later, one whose Kind is Stored until it is a day old, others a few times, but what
// takes the last word back (Resumed after Paused) while the process lives. An error
// that is a [HookError] says when. A hook may be given an alert again that it
// had passed on (its ID is the same): when the process or the database died before
// that was recorded.
type Hook func(ctx context.Context, a Alert) error

// HookError says why a hook could not pass an alert on. Only its own words, and not
// those of other errors, are logged.
type HookError struct {
	// Reason is logged: no secret, no part of a URL but its host.
	Reason string
	// Status is the HTTP status of the answer; 0 if there was none.
	Status int
	// RetryAfter is the least time to wait before another try; 0 leaves it open.
	RetryAfter time.Duration
	// Err is the cause for errors.Is, or nil. It is not part of the text.
	Err error
}

// Error returns the reason.
func (e *HookError) Error() string { return "alert not passed on: " + e.Reason }

// Unwrap returns the cause.
func (e *HookError) Unwrap() error { return e.Err }
