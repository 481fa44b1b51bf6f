package backlog

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// Store keeps the backlog's rows. Drivers implement it. Methods that take a
// transaction leave its end to the caller.
type Store interface {
	// Put inserts items. A message that has a row already is an error.
	Put(ctx context.Context, t *txn.Txn, items []Item) error
	// Poll looks, without a transaction and without writing, for ready rows of
	// consumer with a RowID above marks[shard], and for due ones. marks has Shards
	// elements.
	Poll(ctx context.Context, consumer string, marks []int64) (Poll, error)
	// Promote moves at most limit due rows of consumer onto the ready line, and
	// returns how many.
	Promote(ctx context.Context, t *txn.Txn, consumer string, limit int) (int, error)
	// LockShard takes the shard for this transaction, without waiting, and reports
	// whether it got it. What the holder before committed is seen by the statements
	// after this one. idle ends the transaction on the server when it idles for longer
	// between two statements; 0 leaves the server's setting. A store without such a
	// thing (SQLite) ignores it.
	LockShard(ctx context.Context, t *txn.Txn, consumer string, shard int, idle time.Duration) (bool, error)
	// Read returns at most limit ready rows, by RowID, to a caller that has dealt with
	// those up to after: the rows above it, and first those below it that committed late,
	// so that a row never comes after one of its order key that was put behind it.
	Read(ctx context.Context, t *txn.Txn, consumer string, shard int, after int64, limit int) ([]Item, error)
	// Delete removes rows.
	Delete(ctx context.Context, t *txn.Txn, rows []int64) error
	// Reschedule takes a row off its line until delay has passed, and ends its lease if
	// it has one; delay 0 leaves it where it is. attempt is the number of the run to
	// come.
	Reschedule(ctx context.Context, t *txn.Txn, row int64, delay time.Duration, attempt int) error
	// Depth counts the rows of consumer, or of all where it is empty.
	Depth(ctx context.Context, consumer string) (Depth, error)
}

// Order keeps the order of keys across processes (strict mode).
type Order interface {
	// Lock takes the keys for this transaction, in an order that all callers share,
	// and blocks until it has them all.
	Lock(ctx context.Context, t *txn.Txn, keys []OrderKey) error
	// Waiting returns those of keys that have strict rows in the backlog. Call it in
	// a later statement than Lock.
	Waiting(ctx context.Context, t *txn.Txn, keys []OrderKey) ([]OrderKey, error)
	// Release makes the oldest blocked row of key ready, if no row of key is ready or
	// delayed.
	Release(ctx context.Context, t *txn.Txn, key OrderKey) error
}
