package dlq

import (
	"context"
	"errors"

	"github.com/headrace/headrace/store/txn"
)

// ErrNotFound matches a letter that does not exist.
var ErrNotFound = errors.New("no such dead letter")

// Store keeps the letters. Drivers implement it. Methods that take a transaction
// leave its end to the caller.
type Store interface {
	// Insert writes an open letter unless its message has an open one with the same
	// fingerprint, and returns its id, of the one that was there where written is
	// false. FirstFailure and LastFailure are those of the recorded attempts, or now.
	Insert(ctx context.Context, t *txn.Txn, l Letter) (id int64, written bool, err error)
	// Get returns a letter whole, or an error that matches ErrNotFound.
	Get(ctx context.Context, id int64) (Letter, error)
	// List returns at most limit letters below before (0: the newest first ones),
	// newest first, without payload, metadata and stack.
	List(ctx context.Context, f Filter, before int64, limit int) ([]Letter, error)
	// Groups returns the groups of f, largest first.
	Groups(ctx context.Context, f Filter) ([]Group, error)
	// Take moves at most limit open letters of f with an id above after to state to,
	// and returns them whole, by id. Letters that another transaction is taking are
	// passed over.
	Take(ctx context.Context, t *txn.Txn, f Filter, to State, after int64, limit int) ([]Letter, error)
	// Record writes audit rows.
	Record(ctx context.Context, t *txn.Txn, rows []Audit) error
	// Trail returns the audit rows of a letter, oldest first.
	Trail(ctx context.Context, id int64) ([]Audit, error)
	// Count returns the number of letters of f.
	Count(ctx context.Context, f Filter) (int64, error)
}
