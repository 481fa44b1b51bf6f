package store

import (
	"context"
	"time"

	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// Transactor begins and commits. Every Store is one.
type Transactor interface {
	// Begin opens a transaction for writing: READ COMMITTED on PostgreSQL, BEGIN
	// IMMEDIATE on SQLite. It waits for a connection, and on SQLite for the write
	// lock, until ctx ends. The transaction itself does not end with ctx.
	Begin(ctx context.Context) (*txn.Txn, error)
	// Commit writes events into the outbox, checks that t is still the transaction of its
	// claim (inbox.ErrSwitched if not), and commits. An error that matches none of
	// txn.ErrRolledBack, txn.ErrCommitUnknown and inbox.ErrSwitched comes from before
	// COMMIT was sent. t has ended in every case.
	Commit(ctx context.Context, t *txn.Txn, events []outbox.Row) error
}

// lastTime is how long a transaction of Transact may go on after its context has ended.
const lastTime = 2 * time.Second

// Transact runs f in a transaction and commits it. An unknown outcome of COMMIT is an
// error like others. Two seconds after the end of ctx a COMMIT without an answer is given up: its
// connection is cut, if it can be reached.
func Transact(ctx context.Context, st Transactor, f func(*txn.Txn) error) error {
	t, err := st.Begin(ctx)
	if err != nil {
		return err
	}
	last, stop := sleep.Outlast(ctx, lastTime)
	defer stop() // after Rollback, since it ends last
	defer t.Rollback()
	t.CutAfter(last)
	if err := f(t); err != nil {
		if txn.Classify(err) == txn.Connection || ctx.Err() != nil {
			t.Discard() // a rollback could hang like the statement
		}
		return err
	}
	return st.Commit(ctx, t, nil)
}
