package txn

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// ErrRolledBack matches a commit that the database rejected: nothing of the transaction
// was committed.
var ErrRolledBack = errors.New("transaction rolled back")

// ErrCommitUnknown matches a commit that may or may not have happened: the connection was
// lost, the deadline passed, or the server was terminated while it answered.
var ErrCommitUnknown = errors.New("commit outcome unknown")

// Commit commits. It blocks until the database answers or ctx ends. Not all drivers
// observe a context here, so after ctx has ended the commit may still be under way on a
// connection that is then thrown away. A nil error means committed; otherwise the error
// matches ErrRolledBack or ErrCommitUnknown.
//
// Give it a context that outlives the message's, with its own deadline.
func (t *Txn) Commit(ctx context.Context) error {
	if t.ended {
		return fmt.Errorf("%w: it had ended before", ErrRolledBack)
	}
	t.ended = true
	if t.kill != nil {
		return t.commitGuarded(ctx, context.AfterFunc(ctx, t.kill))
	}
	answered := make(chan error, 1)
	go func() { answered <- t.tx.Commit() }()
	select {
	case err := <-answered:
		t.release(tainted(err))
		return t.o.Outcome(err)
	case <-ctx.Done():
		// The goroutine above ends when the driver's read does; it owns the connection
		// until then.
		t.o.Abandoned.Run(func() {
			<-answered
			t.release(true)
		})
		return fmt.Errorf("%w: no answer to COMMIT: %w", ErrCommitUnknown, context.Cause(ctx))
	}
}

// commitGuarded commits on a connection that the guard of stop cuts when ctx ends; the
// driver then returns at once.
func (t *Txn) commitGuarded(ctx context.Context, stop func() bool) error {
	err := t.tx.Commit()
	inTime := stop()
	t.release(!inTime || tainted(err))
	if err != nil && !inTime {
		return fmt.Errorf("%w: no answer to COMMIT: %w", ErrCommitUnknown, context.Cause(ctx))
	}
	return t.o.Outcome(err)
}

// tainted reports whether a connection should leave the pool after COMMIT failed with
// err. Unless the error comes from PostgreSQL itself, the transaction may still be open.
func tainted(err error) bool {
	_, ofServer := errors.AsType[serverError](err)
	return err != nil && (!ofServer || Classify(err) == Connection)
}

// TryCommit returns the database's error with which COMMIT would fail, and nil if it would
// succeed. It rolls t back in either case. The error matches sql.ErrTxDone if other code has
// ended the transaction through SQL.
func TryCommit(ctx context.Context, t *Txn) error {
	defer t.Rollback()
	if t.ended {
		return sql.ErrTxDone
	}
	if known, err := t.CheckDeferred(ctx); known {
		return err
	}
	return t.o.TryCommit(ctx, t)
}

// Switched reports whether the database runs another transaction than that of SetID, or
// none: a handler has ended it. It is false where the database does not answer that.
func Switched(ctx context.Context, t *Txn) bool {
	if t.o.Switched == nil || t.id == "" || t.ended {
		return false
	}
	ctx, stop := Guarded(ctx, t)
	defer stop()
	return t.o.Switched(ctx, t)
}

// Outcome returns what the error of COMMIT says, or that of a statement with a commit of its
// own: an error that matches ErrRolledBack or ErrCommitUnknown. nil stays nil.
func (o *Options) Outcome(err error) error {
	if err == nil {
		return nil
	}
	if o.refused(err) {
		return fmt.Errorf("%w: %w", ErrRolledBack, err)
	}
	return fmt.Errorf("%w: %w", ErrCommitUnknown, err)
}

// refused reports whether err proves that the database rolled back: a server error of
// severity ERROR, or the driver's error for a transaction that had failed before. A
// server that ends the session (severity FATAL) or crashes may have committed. So may a
// server behind a pooler that answers in its place (08xxx, 40003).
func (o *Options) refused(err error) bool {
	if o.RolledBack != nil && o.RolledBack(err) {
		return true
	}
	if e, ok := errors.AsType[serverError](err); ok {
		s := e.SQLState()
		if len(s) != 5 || s == "40003" || s[:2] == "08" {
			return false
		}
		switch s[:2] {
		case "57", "58", "XX": // of either severity; from lib/pq only in the server's language
			return o.Severity != nil && o.Severity(err) == "ERROR"
		}
		return true
	}
	// SQLite answers in process. A rejected commit may leave the transaction open: it
	// ends with the connection, which leaves the pool (tainted).
	e, ok := errors.AsType[sqliteError](err)
	return ok && e.Code()&0xff != sqliteIOErr
}
