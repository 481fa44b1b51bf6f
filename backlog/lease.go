package backlog

import (
	"context"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// Tables are the rows of the backlog by what is done with them.
type Tables struct {
	Store
	// Order keeps the order of keys.
	Order Order
	// Leases are the rows of leased handlers.
	Leases Leases
	// Signals wake who works off the rows in this process.
	Signals *Signals
}

// Lease names a claim of a row: the message and the token that the claim drew.
type Lease struct {
	// ID is the message, and Token what the claim drew.
	ID    inbox.ID
	Token string
}

// Leases keep the rows of handlers that work outside of a transaction. Such a row
// leaves the ready line with Divert and is leased with Claim; whoever commits holds
// it by Fence. Drivers implement it.
type Leases interface {
	// Divert moves ready rows onto the line of leased handlers.
	Divert(ctx context.Context, t *txn.Txn, rows []int64) error
	// Look looks, without a transaction and without writing, for rows of handler that
	// Claim would take, and when the next lease ends (0: none is held).
	Look(ctx context.Context, consumer, handler string) (found bool, next time.Duration, err error)
	// Claim leases at most limit rows of handler under token for term, those whose
	// lease has ended included, and counts a start on each. Rows that another
	// transaction is claiming are passed over. Item.Lost says that the lease before
	// was not given back.
	Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) ([]Item, error)
	// Extend sets the end of those of leases that are still held to term from now, in a
	// transaction of its own, and returns the ones that are.
	Extend(ctx context.Context, leases []Lease, term time.Duration) ([]Lease, error)
	// Fence locks the row of the lease, as the first statement of t, and reports
	// whether it is still held.
	Fence(ctx context.Context, t *txn.Txn, l Lease) (bool, error)
	// GiveBack ends leases whose work was not begun or was cancelled by a stop, and
	// takes back the start that was counted.
	GiveBack(ctx context.Context, t *txn.Txn, leases []Lease) error
}
