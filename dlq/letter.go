package dlq

import (
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// State is the life of a letter.
type State string

// The states of a letter.
const (
	// Open: it waits for a person.
	Open State = "open"
	// Redriven: its message was put into its handler's backlog again.
	Redriven State = "redriven"
	// Discarded: a person discarded it, with a reason.
	Discarded State = "discarded"
)

// Class says why a message was given up.
type Class string

// The classes of a letter.
const (
	// Exhausted: transient failures until the policy's limit.
	Exhausted Class = "exhausted"
	// Permanent: the handler said that no retry will help.
	Permanent Class = "permanent"
	// Conflict: its key was used before by a message with another fingerprint. That first
	// message is not touched.
	Conflict Class = "conflict"
	// Undecodable: no codec could read the payload, or the message has no key.
	Undecodable Class = "undecodable"
	// Crashed: the process ended each time that its handler was the only work running.
	Crashed Class = "crashed"
	// Parked: a step of the message needs a person (package ledger): it cannot be redriven
	// before the step is resolved.
	Parked Class = "parked"
	// Ingested: its broker gave it up, and it was taken from the broker's own dead-letter queue.
	Ingested Class = "ingested"
	// Cancelled: a person took it out of the backlog. It belongs to no group's state, and no
	// alert tells of it.
	Cancelled Class = "cancelled"
)

// Classes returns all classes.
func Classes() []Class {
	return []Class{Exhausted, Permanent, Conflict, Undecodable, Crashed, Parked, Ingested, Cancelled}
}

// Letter is a complete message that was given up.
type Letter struct {
	// LetterID is permanent. Stores set it.
	LetterID int64
	// State says what became of it, Class why it was given up.
	State State
	Class Class
	// Consumer and Handler gave it up; Delivery is the message as it came, byte for byte.
	Consumer string
	Handler  string
	Delivery headrace.Delivery
	// Strict is kept for a redrive: see backlog.Item.
	Strict bool

	// Error is the last error's message, capped. Chain has the types and messages of the
	// errors that it wraps, outermost first. Stack is the capped stack of a panic, or "".
	Error string
	Chain []string
	Stack string
	// ErrorFingerprint groups letters that failed for the same reason: see Failure.Fingerprint.
	ErrorFingerprint string
	// FirstFingerprint is, for a conflict, the fingerprint that had the key first.
	FirstFingerprint string

	// Attempts is how many attempts are recorded for the message; 0 for a conflict.
	Attempts int
	// FirstFailure and LastFailure are by the database's clock.
	FirstFailure time.Time
	LastFailure  time.Time
	// CreatedAt is when the letter was written and ChangedAt when its state last
	// changed, by the database's clock. Stores set both.
	CreatedAt time.Time
	ChangedAt time.Time
	// PreviousID is the letter from which this message was redriven before it failed
	// again; 0 if none. Redrives counts the redrives.
	PreviousID int64
	Redrives   int
	// Deliveries counts how often the message of a letter under a stand-in key came
	// (inbox.IsStandIn); 0 for any other letter. Stores set it.
	Deliveries int
	// Rev is how many edits the letter has, and Edit the content of the newest one, which a
	// redrive sends; it is not set where a Store returns letters without payload.
	Rev  int
	Edit Content
	// Host, Build and Environment say which process wrote it; "" if unknown.
	Host        string
	Build       string
	Environment string
}

// ID names the letter's message.
func (l Letter) ID() inbox.ID { return inbox.ID{Scope: l.Delivery.Scope, Key: l.Delivery.Key} }

// Filter chooses letters. The zero value chooses all open ones; every field that
// is set narrows it.
type Filter struct {
	// IDs chooses letters by number; empty means any.
	IDs []int64
	// Consumer, Handler, Topic and Class are those of the letter; empty means any.
	Consumer string
	Handler  string
	Topic    string
	Class    Class
	// ErrorFingerprint chooses one group.
	ErrorFingerprint string
	// Key chooses the letters of one message key.
	Key string
	// Build and Host are those of the process that wrote the letter; empty means any.
	Build string
	Host  string
	// Text chooses letters whose error, payload or trace id holds these bytes.
	Text string
	// Headers chooses letters whose message has all of these headers, with these values.
	Headers map[string]string
	// Where chooses letters whose payload is JSON for which this condition holds: see package
	// dlq/search.
	Where string
	// Since and Until bound CreatedAt: Since included, Until not. Zero means open.
	Since time.Time
	Until time.Time
	// State chooses another state than Open; AnyState all of them.
	State    State
	AnyState bool
}

// WholeGroups reports whether f chooses open letters only by fields that all letters of a
// group share: those are counted already (package groups).
func (f Filter) WholeGroups() bool {
	return !f.AnyState && (f.State == "" || f.State == Open) && f.IDs == nil && f.Topic == "" && f.Class == "" && f.Key == "" &&
		f.Since.IsZero() && f.Until.IsZero() && !f.contents()
}

// contents reports whether f chooses by what a letter holds, or who wrote it.
func (f Filter) contents() bool {
	return f.Build != "" || f.Host != "" || f.Text != "" || f.InGo()
}

// InGo reports whether f has parts that no statement decides: stores read the payloads of
// the letters that may match, and package dlq/search decides.
func (f Filter) InGo() bool { return len(f.Headers) > 0 || f.Where != "" }

// Narrows reports whether f chooses fewer than all letters of its state.
func (f Filter) Narrows() bool {
	return f.IDs != nil || f.Consumer != "" || f.Handler != "" || f.Topic != "" || f.Class != "" ||
		f.ErrorFingerprint != "" || f.Key != "" || !f.Since.IsZero() || !f.Until.IsZero() || f.contents()
}

// Group is how many letters of a filter are of one handler and failed for the same reason.
type Group struct {
	// ErrorFingerprint, Consumer and Handler are what the letters share; Class is that of the
	// newest one.
	ErrorFingerprint string `json:"error_fingerprint"`
	Consumer         string `json:"consumer"`
	Handler          string `json:"handler"`
	Class            Class  `json:"class"`
	// Count is the number of letters. First and Last are when those with the lowest and
	// the highest id were written, by the database's clock.
	Count int64     `json:"count"`
	First time.Time `json:"first"`
	Last  time.Time `json:"last"`
	// Sample is the error of the newest letter, and SampleID that letter.
	Sample   string `json:"error"`
	SampleID int64  `json:"letter_id"`
}

// Audit is the record of one decision on a letter.
type Audit struct {
	// LetterID is the letter.
	LetterID int64  `json:"letter_id"`
	Action   string `json:"action"` // "redrive" or "discard"
	// By says who decided, Reason why, in that person's words.
	By     string `json:"by"`
	Reason string `json:"reason"`
	// DBUser is the login that did it; "" on SQLite. Stores set it.
	DBUser string `json:"db_user,omitempty"`
	// RedriveID is the redrive that it belongs to; 0 for none.
	RedriveID int64 `json:"redrive_id,omitempty"`
	// Detail says more, such as the new key of a redriven conflict.
	Detail string    `json:"detail,omitempty"`
	At     time.Time `json:"at"` // by the database's clock; stores set it
}
