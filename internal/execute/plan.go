package execute

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/breaker"
	"github.com/headrace/headrace/internal/judge"
	"github.com/headrace/headrace/internal/outcome"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/store/txn"
)

// Plan says what an Execution runs, and how.
type Plan struct {
	// Txn is the transaction that has claimed Tasks.
	Txn   *txn.Txn
	Tasks []*task.Task
	// Before are tasks before which a savepoint is set.
	Before map[*task.Task]bool
	// Spaced asks for savepoints from the start, Checked for checking deferred
	// constraints after each message, and Singly for running the messages of a batch
	// handler one by one.
	Spaced, Checked, Singly bool
	// Known returns the failure of a task seen in a transaction that was rolled back, or
	// nil.
	Known func(*task.Task) *outcome.Failure
	// Versions are for inbox.Newer, which fails if it is nil.
	Versions headrace.Versions
	// Cancelled ends when handlers should stop, and Own returns a context for our own
	// statements.
	Cancelled context.Context
	Own       func() (context.Context, context.CancelFunc)
}

// Trouble is the reason why a transaction ended before its COMMIT had an answer.
type Trouble struct {
	Facts judge.Facts
	Err   error
	// Culprits are the failures to record if messages caused it; none if it is unknown
	// which.
	Culprits []*outcome.Failure
	// Known are failures seen earlier in the same transaction.
	Known []*outcome.Failure
	// Probe is the query that shows whether the store caused it.
	Probe breaker.Probe
	// Again says to claim the messages again, without a decision.
	Again bool
}

// NewTrouble describes an error of our own statements in a transaction of tasks.
func NewTrouble(phase judge.Phase, err error, tasks []*task.Task) *Trouble {
	f := judge.Facts{Phase: phase, Class: txn.Classify(err), Messages: len(tasks), Switched: errors.Is(err, inbox.ErrSwitched)}
	for _, t := range tasks {
		f.Reruns = max(f.Reruns, t.Reruns)
	}
	return &Trouble{Facts: f, Err: err}
}

// Unblamed returns the error to show if no message caused it. A handler's error text
// belongs to its attempts.
func (tr *Trouble) Unblamed() error {
	if tr.Facts.Phase != judge.Handler {
		return tr.Err
	}
	return errors.New("a handler failed while the store was away")
}

// Rollback rolls t back, and sets the facts that this shows. session says that a handler may
// have changed the session: it may have ended the transaction, too.
func (tr *Trouble) Rollback(ctx context.Context, t *txn.Txn, session bool) {
	tr.Facts.Switched = session && txn.Switched(ctx, t)
	t.Rollback()
	err := t.Lost()
	if tr.Facts.Switched = tr.Facts.Switched || errors.Is(err, sql.ErrTxDone); tr.Facts.Switched {
		tr.Err = Switched(errors.Join(err, tr.Err))
	} else if err != nil {
		tr.Facts.Lost = true
	}
}

// Switched is the error of a transaction that a handler has ended by itself.
func Switched(err error) error { return fmt.Errorf("%w: %w", inbox.ErrSwitched, err) }

// PassedOver wraps an error of our own statement that a handler's failed statement
// caused.
func PassedOver(err error) error {
	return fmt.Errorf("a statement of the handler had failed, and the handler ignored its error: %w", err)
}
