package dlq

import (
	"context"
	"errors"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// ErrNotFound matches the error for a letter that does not exist.
var ErrNotFound = errors.New("no such dead letter")

// Inserted is the result of inserting one letter.
type Inserted struct {
	// LetterID is the id of the letter, or of the one that existed already.
	LetterID int64
	// Written is false if a letter existed already.
	Written bool
}

// Store keeps the letters. Drivers implement it.
type Store interface {
	Writer
	Reader
	Windows
}

// Writer changes letters. The caller ends the transaction that it passes to a method.
type Writer interface {
	// Insert writes open letters, of different messages or contents, and returns the
	// result of each, at its index. FirstFailure and LastFailure come from the recorded
	// attempts, or are now.
	//
	// It does not write a letter if the message has an open one with the same
	// fingerprint. It does not write a conflict if a letter of the same key and
	// fingerprint exists in any state: that conflict was decided.
	Insert(ctx context.Context, t *txn.Txn, letters []Letter) ([]Inserted, error)
	// Take moves at most limit open letters of f with an id above after to state to, and
	// returns them complete, by id; those that it discards without payload, metadata and stack.
	// It skips letters that another transaction is taking.
	Take(ctx context.Context, t *txn.Txn, f Filter, to State, after int64, limit int) ([]Letter, error)
	// Reopen makes the redriven letter with the LetterID of l open again, with one redrive
	// more and the Error, Chain and ErrorFingerprint of l, and returns its message with its
	// fingerprint. It reports false if there is no such letter, or another one of its message is open.
	Reopen(ctx context.Context, t *txn.Txn, l Letter) (message inbox.Claim, reopened bool, err error)
	// CountDeliveries adds 1 to Deliveries of the letters of each of ids, as often as it
	// is there.
	CountDeliveries(ctx context.Context, t *txn.Txn, ids []inbox.ID) error
	// Record writes audit rows.
	Record(ctx context.Context, t *txn.Txn, rows []Audit) error
}

// Reader reads letters outside of transactions.
type Reader interface {
	// Get returns a complete letter, or an error that matches ErrNotFound.
	Get(ctx context.Context, id int64) (Letter, error)
	// List returns at most limit letters with an id below before (0: from the newest),
	// newest first, without payload, metadata and stack.
	List(ctx context.Context, f Filter, before int64, limit int) ([]Letter, error)
	// Groups counts the letters of f by group, the largest first. It reads all letters of f;
	// package groups has what all open letters of a group are together.
	Groups(ctx context.Context, f Filter) ([]Group, error)
	// Trail returns the audit rows of a letter, oldest first.
	Trail(ctx context.Context, id int64) ([]Audit, error)
	// Next returns the letter that the message of letter id made when it failed again after
	// a redrive; 0 if there is none.
	Next(ctx context.Context, id int64) (int64, error)
	// Count returns the number of letters of f.
	Count(ctx context.Context, f Filter) (int64, error)
}
