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
	// ID names the message.
	ID inbox.ID
	// Token is what the claim drew; never empty.
	Token string
}

// Leases keep the rows of handlers that work outside of a transaction. Such a row
// leaves the ready line with Divert and is leased with Claim; whoever commits holds
// it by Fence. Drivers implement it. Methods that take a transaction leave its end to
// the caller.
//
// A lease is held until somebody else claims its row, or a verdict moves it: one that
// has ended, and that nobody has taken over, is held still.
type Leases interface {
	// Divert moves ready rows onto the line of those that wait to be leased.
	Divert(ctx context.Context, t *txn.Txn, rows []int64) error
	// Look looks, without a transaction and without writing, for rows of handler that
	// Claim would take, and when the next lease ends (0: none is held, or found).
	Look(ctx context.Context, consumer, handler string) (found bool, next time.Duration, err error)
	// Claim leases at most limit rows of handler under token for term, by RowID and
	// those whose lease has ended before the others, and counts a start on each. Rows
	// that another transaction holds are passed over. Item.Lost says that the lease
	// before was not given back.
	Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) ([]Item, error)
	// Extend sets the end of those of leases that are still held to term from now, and
	// returns them as extended. Of locked it is not known whether they are held, because
	// another transaction has their rows: it commits under the lease, or claims. Those in
	// neither are lost. It does not wait for rows.
	Extend(ctx context.Context, t *txn.Txn, leases []Lease, term time.Duration) (extended, locked []Lease, err error)
	// Fence locks the row of the lease, as the first statement of t, and reports
	// whether it is still held. It waits for a claim that is under way. idle ends the
	// transaction on the server when it idles for longer between two statements; 0
	// leaves the server's setting. A store without such a thing (SQLite) ignores it.
	Fence(ctx context.Context, t *txn.Txn, l Lease, idle time.Duration) (bool, error)
	// GiveBack ends those of leases that are still held, and whose work was not begun or
	// was cancelled, and takes back the start that was counted.
	GiveBack(ctx context.Context, t *txn.Txn, leases []Lease) error
	// Lost counts the recorded attempts of a message with a number above spent whose class
	// is retry.Lost.
	Lost(ctx context.Context, t *txn.Txn, id inbox.ID, spent int) (int, error)
	// Recall moves at most limit rows of a handler that is not leased any more onto the
	// ready line, except those whose lease has not ended, and returns how many.
	Recall(ctx context.Context, t *txn.Txn, consumer, handler string, limit int) (int, error)
}
