package job

import (
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
)

// Outcome is what became of a letter of a redrive. Entries are stored with one of the first six;
// Sent is then one of the rest.
type Outcome string

// The outcomes of a letter.
const (
	Queued      Outcome = "queued" // not sent
	Sent        Outcome = "sent"   // without a final outcome
	Succeeded   Outcome = "succeeded"
	FailedAgain Outcome = "failed"  // it is a letter again
	Unknown     Outcome = "unknown" // retention removed what would tell
	Skipped     Outcome = "skipped" // not sent; Entry.Why says why

	InBacklog Outcome = "running"   // it runs, or waits for its first attempt
	Retrying  Outcome = "retrying"  // an attempt has failed since it was sent
	Postponed Outcome = "postponed" // its handler asked for a later time
)

// Ends returns the final outcomes, and Skipped.
func Ends() []Outcome { return []Outcome{Succeeded, FailedAgain, Unknown, Skipped} }

// Entry is a letter of a redrive.
type Entry struct {
	// LetterID is the letter, and Rev how many edits it had when it was listed: a letter that
	// was edited since then is not sent.
	LetterID int64
	Rev      int
	// State is one of the stored outcomes, and Why the reason that it was skipped.
	State Outcome
	Why   string
	// ID is the message as it was sent: a letter under a stand-in key is sent under the real one.
	inbox.ID
	// OrderKey is that of a message whose order is strict; otherwise "".
	OrderKey string
	// Next is the letter that it became when it failed again; 0 if it did not.
	Next int64
	// At is when it was listed, and then when it was sent.
	At time.Time
}

// Look is what the tables say about a letter that was sent, in one snapshot.
type Look struct {
	Entry
	// Class is that of the letter.
	Class dlq.Class
	// NextID is the letter of the message that came after this one; 0 if there is none.
	NextID int64
	// Inbox is the state of the message; "" without a row.
	Inbox inbox.State
	// Attempt is the run to come of a message in the backlog; 0 if it is not there.
	Attempt int
	// PostponedAt is since when it is postponed without a failed attempt; Due when it runs again.
	// Both are zero if not.
	PostponedAt, Due time.Time
}

// Outcome tells what became of the letter. The next letter is looked at first: another person may
// have redriven it already, and Done is then the success of that redrive.
func (l *Look) Outcome() Outcome {
	switch {
	case l.NextID > 0:
		return FailedAgain
	case l.Inbox == inbox.Done:
		return Succeeded
	case l.Inbox != inbox.Waiting:
		return Unknown
	case l.Attempt > 1:
		return Retrying
	case !l.PostponedAt.IsZero():
		return Postponed
	}
	return InBacklog
}

// Candidate is a queued letter that may be sent next, with what the tables say about it.
type Candidate struct {
	Entry
	// Class and Letter are the letter's class and state; Letter is "" if retention removed it.
	Class  dlq.Class
	Letter dlq.State
	// Handler gave it up.
	Handler string
	// Bytes is the size of its payload.
	Bytes int64
}

// Process is what a job knows of a process of its consumer.
type Process struct {
	// Host and Build say where it runs, and what; "" if unknown.
	Host, Build string
	// Beat is its last sign of life. Died says that it ended unexpectedly; otherwise it runs.
	Beat time.Time
	Died bool
}
