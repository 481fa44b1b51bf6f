package dlq

import (
	"context"
	"maps"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Content is what a message says.
type Content struct {
	// Payload is nil for a tombstone. Metadata are the headers.
	Payload  []byte
	Metadata map[string]string
}

// Edit is a letter's content as a person has changed it. The letter keeps the bytes that came.
type Edit struct {
	// LetterID is the letter, and Rev the number of the edit, from 1.
	LetterID int64
	Rev      int
	Content
	// By says who edited it and Reason why. DBUser is the login that asked for it; "" on
	// SQLite.
	By, Reason, DBUser string
	// At is by the database's clock; stores set it.
	At time.Time
}

// Message returns the message that a redrive sends: with the content of the newest edit, where
// there is one. Its key and fingerprint stay those of the message that came.
func (l *Letter) Message() headrace.Delivery {
	d := l.Delivery
	if l.Rev > 0 {
		d.Payload, d.Metadata = l.Edit.Payload, maps.Clone(l.Edit.Metadata)
	}
	return d
}

// Corrections keeps what people change in letters besides redrives and discards. Drivers implement
// it. The caller ends the transaction that it passes to a method.
type Corrections interface {
	// Edit writes an edit of an open letter. It reports false, and writes nothing, unless the
	// letter is open with a Rev of one less.
	Edit(ctx context.Context, t *txn.Txn, e Edit) (bool, error)
	// Edits returns the edits of a letter, oldest first, without their Content.
	Edits(ctx context.Context, letter int64) ([]Edit, error)
	// Restore makes discarded letters of consumer open again, and returns them by id, with LetterID,
	// Class, Consumer, Handler and of Delivery what names the message. It skips letters that
	// another transaction is taking, and those of messages that have another open letter, or a
	// later one among ids.
	Restore(ctx context.Context, t *txn.Txn, consumer string, ids []int64) ([]Letter, error)
	// RestoreSteps makes the steps that a discard of messages has finished need a person again
	// (package ledger).
	RestoreSteps(ctx context.Context, t *txn.Txn, messages []inbox.ID) error
}
