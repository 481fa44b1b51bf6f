package backlog

import (
	"context"

	"github.com/headrace/headrace/store/txn"
)

// MaxRetry is how many rows one call of Moves.Retry moves at most.
const MaxRetry = 10_000

// Moves are changes that a person makes to rows. Drivers implement it.
type Moves interface {
	// Find returns the rows of the messages of consumer that have one of keys, by id. It
	// sets only RowID, Handler, Scope, Key and Wait.Status.
	Find(ctx context.Context, consumer string, keys []string) ([]Row, error)
	// Retry makes delayed rows of f due now, at most MaxRetry, the earliest ones first, and
	// returns how many. It costs no attempt. A row behind another one of its strict order
	// key stays. With keys it moves only rows with one of them. f.Status is not used, and
	// f.Consumer is required.
	Retry(ctx context.Context, f Filter, keys []string) (int, error)
	// Take removes a row. It reports false if a process works on it under a lease, or it is
	// gone.
	Take(ctx context.Context, t *txn.Txn, row int64) (bool, error)
}
