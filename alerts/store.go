package alerts

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// Row is an alert in the database, written by the transaction of what it tells of.
type Row struct {
	// RowID orders the rows. Stores set it.
	RowID int64
	Alert
	// Group names alerts that say the same; a debouncing reader passes on one of them
	// at a time.
	Group string
}

// Due is a group of rows that wait to be passed on.
type Due struct {
	Row         // the newest of the group
	Count int64 // how many wait
	// First says that no alert of the group was passed on before.
	First bool
}

// Store keeps alerts until they have been passed on. Drivers implement it. Work
// transactions only append; counting and debouncing are the reader's.
type Store interface {
	// Append writes rows.
	Append(ctx context.Context, t *txn.Txn, rows []Row) error
	// Waiting reports, without writing, whether any rows of consumer wait.
	Waiting(ctx context.Context, consumer string) (bool, error)
	// Take locks the alerts of consumer for this transaction, without waiting, and
	// returns the groups that are due: those of which nothing was passed on for quiet.
	// ok is false where another process holds the lock.
	Take(ctx context.Context, t *txn.Txn, consumer string, quiet time.Duration) (due []Due, ok bool, err error)
	// Passed removes the rows of a group up to RowID, and remembers when.
	Passed(ctx context.Context, t *txn.Txn, consumer string, d Due) error
}
