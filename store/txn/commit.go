package txn

import (
	"context"
	"errors"
	"fmt"
)

// ErrRolledBack matches a commit that the database refused: nothing of the
// transaction is there.
var ErrRolledBack = errors.New("transaction rolled back")

// ErrCommitUnknown matches a commit after which nobody knows whether it happened:
// the connection was lost, the deadline passed, or the server was terminated
// while it answered.
var ErrCommitUnknown = errors.New("commit outcome unknown")

// Commit commits. It blocks until the database answers or ctx ends, whichever is
// first; drivers do not all heed a context here, so after ctx has ended the commit
// may still be under way on a connection that is then thrown away. A nil error
// means committed; otherwise the error matches ErrRolledBack or ErrCommitUnknown.
//
// Give it a context that outlives the message's, with a deadline of its own.
func (t *Txn) Commit(ctx context.Context) error {
	if t.ended {
		return fmt.Errorf("%w: it had ended before", ErrRolledBack)
	}
	t.ended = true
	if stop, ok := t.Guard(ctx); ok {
		return t.commitGuarded(ctx, stop)
	}
	answered := make(chan error, 1)
	go func() { answered <- t.tx.Commit() }()
	select {
	case err := <-answered:
		t.release(tainted(err))
		return t.outcome(err)
	case <-ctx.Done():
		if t.kill != nil {
			t.kill()
		}
		// The goroutine above ends when the driver's read does; it owns the
		// connection until then.
		t.abandoned.run(func() {
			<-answered
			t.release(true)
		})
		return fmt.Errorf("%w: no answer to COMMIT: %w", ErrCommitUnknown, context.Cause(ctx))
	}
}

// commitGuarded commits on a connection that stop's guard cuts when ctx ends: then the
// driver answers at once.
func (t *Txn) commitGuarded(ctx context.Context, stop func() bool) error {
	err := t.tx.Commit()
	inTime := stop()
	t.release(!inTime || tainted(err))
	if err != nil && !inTime {
		return fmt.Errorf("%w: no answer to COMMIT: %w", ErrCommitUnknown, context.Cause(ctx))
	}
	return t.outcome(err)
}

// tainted reports whether a connection should leave the pool after COMMIT failed
// with err: unless PostgreSQL said so itself, the transaction may still be open.
func tainted(err error) bool {
	var state interface{ SQLState() string }
	return err != nil && (!errors.As(err, &state) || Classify(err) == Connection)
}

func (t *Txn) outcome(err error) error {
	if err == nil {
		return nil
	}
	if t.refused(err) {
		return fmt.Errorf("%w: %w", ErrRolledBack, err)
	}
	return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
}

// refused reports whether err is the database's word that it rolled back: an
// error with a code of its own that is no connection's end, or what the driver
// says of a transaction that had failed before.
func (t *Txn) refused(err error) bool {
	if t.rolledBack != nil && t.rolledBack(err) {
		return true
	}
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		s := state.SQLState()
		if len(s) != 5 || s == "40003" { // statement completion unknown
			return false
		}
		switch s[:2] {
		case "08", "57", "58", "XX":
			return false
		}
		return true
	}
	// SQLite answers in process. A refused commit may leave the transaction open: it
	// ends with the connection, which leaves the pool (tainted).
	var code interface{ Code() int }
	return errors.As(err, &code) && code.Code()&0xff != sqliteIOErr
}
