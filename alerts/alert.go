package alerts

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"time"
)

// Alert is one event that people should know of, or several of the same group. Fields
// that do not apply are empty. It contains names and counts: no payload, key, message id
// or error text. Its JSON is the data of a Webhook.
type Alert struct {
	// ID names the alert. It is the same each time that the alert is tried or sent again,
	// except for an alert of several Groups, which may contain other groups by then.
	ID   string `json:"id"`
	Kind Kind   `json:"kind"`
	// Consumer, Handler and Topic say where it happened. An alert of an outbox row has no
	// Consumer, since all consumers of a database share the relay; nor has WebhookRefused.
	Consumer string `json:"consumer,omitempty"`
	Handler  string `json:"handler,omitempty"`
	Topic    string `json:"topic,omitempty"`
	// Environment and Build are consumer.Config's of the process that sends the alert.
	Environment string `json:"environment,omitempty"`
	Build       string `json:"build,omitempty"`
	// Class says, for a dead letter, why it was given up (see dlq.Class); it is that of
	// the newest.
	Class string `json:"class,omitempty"`
	// ErrorFingerprint groups dead letters that failed for the same reason: it is the
	// argument of "headrace dlq ls --group".
	ErrorFingerprint string `json:"error_fingerprint,omitempty"`
	// LetterID is the newest dead letter of the alert; 0 if there is none.
	LetterID int64 `json:"letter_id,omitempty"`
	// Text says in one sentence what happened and what to do.
	Text string `json:"text"`
	// Count is how many happened since the last alert of the group; 0 means 1. If two
	// kinds end each other (Paused and Resumed), only the newest is sent, with the count
	// of both.
	Count int64 `json:"count"`
	// Groups is how many groups the alert sums up, if too many are due at once; 0 means
	// 1. Handler, Topic, Class, ErrorFingerprint and LetterID are then empty.
	Groups int64 `json:"groups"`
	// Since is when the first of Count happened, At when the newest did: by the
	// database's clock if the Kind is Stored, otherwise by this process's. A Webhook has At
	// beside its data, so it is not in the JSON.
	Since time.Time `json:"since"`
	At    time.Time `json:"-"`
}

// Group names the alerts of one group: one of them is sent in a quiet period, with the
// count of the others. Its length is bounded.
func (a Alert) Group() string {
	kind, topic := a.Kind, ""
	switch kind {
	case FirstDeadLetter:
		kind = DeadLetter
	case RowParked:
		topic = a.Topic
	}
	return string(kind) + "/" + digest(a.Consumer, a.Handler, topic, a.ErrorFingerprint)
}

// digest is a short name of parts.
func digest(parts ...string) string {
	h := sha256.New()
	for _, part := range parts {
		_, _ = h.Write([]byte(part + "\x00")) // a hash never fails
	}
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Hook sends an alert. Calls come one at a time, from a goroutine that does no other
// work: a slow or failing hook never delays or rolls back a message. ctx ends after 10
// seconds, and when the consumer closes.
//
// After an error or a panic the alert is tried again later. An alert whose Kind is Stored
// is tried until it is a day old, others a few times; an alert that ends the last one
// sent (Resumed after Paused) is tried while the process lives. An error that is a
// [HookError] says when. A hook may get an alert again that it has sent (with the same
// ID): if the process or the database died before the success was recorded.
type Hook func(ctx context.Context, a Alert) error

// HookError says why a hook could not send an alert. Only its Reason is logged, not the
// texts of other errors.
type HookError struct {
	// Reason is logged: it contains no secret, and only the host of a URL.
	Reason string
	// Status is the HTTP status of the response; 0 if there was none.
	Status int
	// RetryAfter is the least time before another try; 0 if unspecified.
	RetryAfter time.Duration
	// Err is the cause for errors.Is, or nil. It is not part of the text.
	Err error
}

// Error returns the reason.
func (e *HookError) Error() string { return "alert not passed on: " + e.Reason }

// Unwrap returns the cause.
func (e *HookError) Unwrap() error { return e.Err }
