package dlq

import (
	"context"
	"errors"

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

// Store keeps the letters. Drivers implement it. The caller ends the transaction that it
// passes to a method.
type Store interface {
	// Insert writes open letters, of different messages or contents, and returns the
	// result of each, at its index. FirstFailure and LastFailure come from the recorded
	// attempts, or are now.
	//
	// It does not write a letter if the message has an open one with the same
	// fingerprint. It does not write a conflict if a letter of the same key and
	// fingerprint exists in any state: that conflict was decided.
	Insert(ctx context.Context, t *txn.Txn, letters []Letter) ([]Inserted, error)
	// Get returns a complete letter, or an error that matches ErrNotFound.
	Get(ctx context.Context, id int64) (Letter, error)
	// List returns at most limit letters with an id below before (0: from the newest),
	// newest first, without payload, metadata and stack.
	List(ctx context.Context, f Filter, before int64, limit int) ([]Letter, error)
	// Groups returns the groups of f, largest first.
	Groups(ctx context.Context, f Filter) ([]Group, error)
	// Take moves at most limit open letters of f with an id above after to state to, and
	// returns them complete, by id. It skips letters that another transaction is taking.
	Take(ctx context.Context, t *txn.Txn, f Filter, to State, after int64, limit int) ([]Letter, error)
	// Record writes audit rows.
	Record(ctx context.Context, t *txn.Txn, rows []Audit) error
	// Trail returns the audit rows of a letter, oldest first.
	Trail(ctx context.Context, id int64) ([]Audit, error)
	// Count returns the number of letters of f.
	Count(ctx context.Context, f Filter) (int64, error)
}
