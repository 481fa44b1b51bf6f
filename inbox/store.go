package inbox

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// ErrStale is returned by a handler that finds that it has applied something
// newer: what it wrote is rolled back, and the message is done, counted as
// skipped.
var ErrStale = errors.New("stale: something newer was applied")

// ErrSwitched matches the error of a commit that found another transaction than
// the one of the claim: a handler ended it. Nothing may be trusted after that.
var ErrSwitched = errors.New("the transaction of the claim was ended by a handler")

// Claim asks for the right to handle a message.
type Claim struct {
	ID
	// Fingerprint is stored with the row where the claim is won.
	Fingerprint string
}

// ClaimRequest is a claim for a group of messages in one transaction.
type ClaimRequest struct {
	// Claims hold no ID twice. Any order: stores sort.
	Claims []Claim
	// LockTimeout bounds the wait for keys that other transactions hold; 0 waits as
	// long as the database does. It is not in force any more when Claim returns.
	LockTimeout time.Duration
	// Unguarded saves the savepoint that LockTimeout needs: where the wait is too
	// long, the claim fails with class txn.LockTimeout instead of answering Busy, and
	// the transaction is of no more use. Claim again in a new one without it.
	Unguarded bool
	// IdleTimeout ends the transaction on the server when it idles for longer
	// between two statements; 0 leaves the server's setting. A store without such a
	// thing (SQLite) ignores it.
	IdleTimeout time.Duration
}

// Result is what became of a claim.
type Result int

// The results of a claim.
const (
	// Won: the row is inserted as Done, and stands if the transaction commits.
	Won Result = iota
	// Lost: there is a row already; Claimed.Entry holds it.
	Lost
	// Busy: another transaction holds the key and did not end within LockTimeout.
	Busy
)

// Claimed is the answer to the claim at the same index.
type Claimed struct {
	Result Result
	// Entry is the row that was there, where Result is Lost.
	Entry Entry
}

// Store keeps the rows of the inbox and the attempts. Drivers implement it.
// Methods that take a transaction leave its end to the caller, also after an
// error.
type Store interface {
	// Claim inserts a Done row for each claim that has none, as the first statement
	// of t, and remembers t's id for the commit. It blocks while another transaction
	// holds one of the keys. Answers stand at the index of their claim.
	Claim(ctx context.Context, t *txn.Txn, r ClaimRequest) ([]Claimed, error)
	// Record inserts e unless the message has a row, and reports whether it did.
	Record(ctx context.Context, t *txn.Txn, e Entry) (bool, error)
	// Transition moves those of ids that are in state from to state to, and returns
	// the ones that moved, in any order. Like Claim, it remembers t's id for the
	// commit, if nothing did before.
	Transition(ctx context.Context, t *txn.Txn, ids []ID, from, to State) ([]ID, error)
	// MarkStale notes on a Done row that nothing was applied.
	MarkStale(ctx context.Context, t *txn.Txn, id ID) error
	// AddAttempt appends a, with the next N of its message, and returns that N. Of two
	// appends for one message at once, the second waits for the first's transaction.
	AddAttempt(ctx context.Context, t *txn.Txn, a Attempt) (int, error)
	// Attempts returns the attempts of a message, oldest first.
	Attempts(ctx context.Context, id ID) ([]Attempt, error)
	// Find returns the rows of key in every scope, by scope.
	Find(ctx context.Context, key string) ([]Entry, error)
	// Counts returns the number of rows by state of the scopes of one consumer, or of
	// all where consumer is empty. It reads the whole table.
	Counts(ctx context.Context, consumer string) (map[State]int64, error)
}
