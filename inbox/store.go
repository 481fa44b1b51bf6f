package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// ErrStale is the error of a handler that has already applied a newer message: its writes
// are rolled back, and the message is done, counted as stale.
var ErrStale = errors.New("stale: something newer was applied")

// ErrSwitched matches the error of a commit in another transaction than that of the
// claim: a handler ended it. Nothing can be trusted after that.
var ErrSwitched = errors.New("the transaction of the claim was ended by a handler")

// Claim is a claim to handle a message.
type Claim struct {
	ID
	// Fingerprint is stored with the row if the claim is won.
	Fingerprint string
}

// ClaimRequest claims several messages in one transaction.
type ClaimRequest struct {
	// Claims contain no ID twice. Any order: stores sort.
	Claims []Claim
	// LockTimeout bounds Claim's wait for keys that other transactions hold; 0 means the
	// database's own limit.
	LockTimeout time.Duration
	// Unguarded saves the savepoint that LockTimeout needs. If the wait is too long, the
	// claim then fails with class txn.LockTimeout instead of Busy, and the transaction is
	// unusable: claim again in a new one, not Unguarded.
	Unguarded bool
	// Waiting inserts the rows of won claims as Waiting instead of Done, for messages
	// that the same transaction puts into the backlog.
	Waiting bool
	// Limits are the server's limits for the rest of the transaction.
	Limits txn.Limits
}

// Result is the result of a claim.
type Result int

// The results of a claim.
const (
	// Won: the row is inserted, and kept if the transaction commits.
	Won Result = iota
	// Lost: a row exists already; Claimed.Entry holds it.
	Lost
	// Busy: another transaction holds the key and did not end within LockTimeout.
	Busy
)

// Claimed is the result of the claim at the same index.
type Claimed struct {
	Result Result
	// Entry is the existing row, if Result is Lost.
	Entry Entry
}

// Store keeps the rows of the inbox and the attempts. Drivers implement it. The caller
// ends the transaction that it passes to a method, also after an error.
type Store interface {
	// Claim inserts a row for each claim that has none, and stores t's id for the commit.
	// It blocks while another transaction holds one of the keys. The result of a claim
	// has the claim's index.
	Claim(ctx context.Context, t *txn.Txn, r ClaimRequest) ([]Claimed, error)
	// Transition moves those of ids that are in state from to state to, and returns the
	// ones that moved, in any order. Like Claim, it stores t's id for the commit, if it
	// is not set.
	Transition(ctx context.Context, t *txn.Txn, ids []ID, from, to State) ([]ID, error)
	// MarkStale marks Done rows as stale: nothing was applied.
	MarkStale(ctx context.Context, t *txn.Txn, ids []ID) error
	// AddAttempts appends attempts of different messages, each with the next N of its
	// message, and returns these N, each at the index of its attempt. Of two concurrent
	// appends for one message, the second waits for the first's transaction.
	AddAttempts(ctx context.Context, t *txn.Txn, attempts []Attempt) ([]int, error)
	// Attempts returns the attempts of a message, oldest first.
	Attempts(ctx context.Context, id ID) ([]Attempt, error)
	// Find returns the rows of key in every scope, by scope.
	Find(ctx context.Context, key string) ([]Entry, error)
	// Counts returns the number of rows by state of the scopes of one consumer, or of all
	// if consumer is empty. It reads the whole table.
	Counts(ctx context.Context, consumer string) (map[State]int64, error)
}
