package backlog

import (
	"context"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Tables groups the stores of the backlog's rows by task.
type Tables struct {
	Store
	Counts
	// Order keeps the order of keys.
	Order Order
	// Leases are the rows of leased handlers.
	Leases Leases
	// Signals wake the workers in this process.
	Signals *Signals
}

// Store keeps the backlog's rows. Drivers implement it. The caller ends the transaction
// that it passes to a method.
type Store interface {
	// Put inserts items, in the order given. It fails if a message has a row already.
	Put(ctx context.Context, t *txn.Txn, items []Item) error
	// Poll looks for ready rows of consumer with a Place above marks[shard], and for due
	// ones. It uses no transaction and does not write. marks has Shards elements.
	Poll(ctx context.Context, consumer string, marks []int64) (Poll, error)
	// Promote makes at most limit due rows of consumer ready, and returns how many.
	Promote(ctx context.Context, t *txn.Txn, consumer string, limit int) (int, error)
	// LockShard takes the shard for this transaction, without waiting, and reports
	// whether it got it. The statements after this one see the commits of the previous
	// holder. The server applies limits for the rest of the transaction.
	LockShard(ctx context.Context, t *txn.Txn, consumer string, shard int, limits txn.Limits) (bool, error)
	// Read returns ready rows by Place. The caller has the shard.
	Read(ctx context.Context, t *txn.Txn, r ReadRequest) ([]Item, error)
	// Delete removes rows.
	Delete(ctx context.Context, t *txn.Txn, rows []int64) error
	// Reschedule makes rows run again, and ends the leases of those that have one.
	Reschedule(ctx context.Context, t *txn.Txn, changes []Change) error
}

// Counts tell how much waits. Drivers implement it.
type Counts interface {
	// Depth counts the rows of consumer, up to MaxDepth of each status.
	Depth(ctx context.Context, consumer string) (Depth, error)
	// Depths counts the oldest rows of each handler: in each shard MaxOldest that are ready, and
	// 64 times MaxOldest of each other status. Rows that no process works off become the oldest,
	// so it finds them.
	Depths(ctx context.Context) ([]HandlerDepth, error)
}

// Order keeps the order of strict keys: a row runs when all earlier rows of its key
// (lower RowID) are gone, or run before it in the same transaction. The worker that has
// the shard blocks rows that would overtake. The transaction that ends a row releases the
// rows that it blocked. Drivers implement it.
type Order interface {
	// Block takes rows out of the ready ones because an earlier row of their key is not
	// ready, and returns those that it blocked. It skips a row if that earlier row is
	// gone or another transaction is ending it: look at the row again later. The caller
	// has the shard.
	Block(ctx context.Context, t *txn.Txn, rows []int64) ([]int64, error)
	// Release makes at most limit blocked rows of each key ready, the oldest first.
	Release(ctx context.Context, t *txn.Txn, keys []OrderKey, limit int) error
	// Sweep releases at most limit blocked rows of consumer, each the first of its key
	// whose earlier rows are all gone or ready, and returns how many. Such rows remain if
	// a process ended a row and did not release those behind it.
	Sweep(ctx context.Context, t *txn.Txn, consumer string, limit int) (int, error)
}

// Lease names a claim of a row: the row and the token that the claim drew.
type Lease struct {
	// RowID names the row.
	RowID int64
	// Token is the claim's random token; never empty.
	Token string
}

// Leases keep the rows of handlers that work outside of a transaction. MoveToLeased takes
// such a row from the ready ones and Claim leases it; a transaction that commits its
// outcome holds it with Fence. Drivers implement it. The caller ends the transaction that
// it passes to a method.
//
// A lease is held until another worker claims its row, or the row is rescheduled or
// deleted. A lease that has ended is still held until then.
type Leases interface {
	// MoveToLeased makes ready rows wait to be leased.
	MoveToLeased(ctx context.Context, t *txn.Txn, rows []int64) error
	// Look looks for rows of handler that Claim would take, and for when the next lease
	// ends (0: none is held, or rows were found). It uses no transaction and does not
	// write.
	Look(ctx context.Context, consumer, handler string) (found bool, next time.Duration, err error)
	// Claim leases at most limit rows of handler under token for term, and counts a start
	// on each. It takes rows whose lease has ended first, then by Place, and skips rows
	// that another transaction has locked. Item.Lost says that the previous lease was not
	// given back.
	Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) ([]Item, error)
	// Extend makes the leases that are still held end after term from now, and returns
	// them as extended. It does not wait for rows: locked are the leases whose rows
	// another transaction has locked, because it commits under the lease or claims. They
	// may be held or lost. Leases in neither are lost.
	Extend(ctx context.Context, t *txn.Txn, leases []Lease, term time.Duration) (extended, locked []Lease, err error)
	// Fence locks the row of the lease and reports whether it is still held. It is the
	// first statement of t, waits for a claim that is under way, and sets limits on the
	// server for the rest of the transaction.
	Fence(ctx context.Context, t *txn.Txn, l Lease, limits txn.Limits) (bool, error)
	// GiveBack ends those of leases that are still held, and takes back the start that
	// was counted. The caller has not begun their work, or cancelled it.
	GiveBack(ctx context.Context, t *txn.Txn, leases []Lease) error
	// Lost counts the recorded attempts of a message with a number above spent whose class
	// is retry.Lost.
	Lost(ctx context.Context, t *txn.Txn, id inbox.ID, spent int) (int, error)
	// MoveBack makes at most limit rows of a handler that is no longer leased ready,
	// except those whose lease has not ended, and returns how many.
	MoveBack(ctx context.Context, t *txn.Txn, consumer, handler string, limit int) (int, error)
}
