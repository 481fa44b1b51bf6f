package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// tx is a transaction that writes. Only its Commit can make changes durable, and for the
// store's own transactions only if Store.Commit allowed it. The commit hook of the
// connection turns every other COMMIT into a rollback: one in a statement, and one that
// SQLite adds to a statement because the transaction has ended. So no effect of a handler
// is committed without the record that its message was handled.
//
// A savepoint that the commit releases would also detect an ended transaction, but too
// late, and it makes SQLite copy every changed page.
type tx struct {
	c    *conn
	turn *turn

	sealed     bool  // only Store.Commit may commit it
	allowed    bool  // Store.Commit has allowed it
	ending     bool  // Commit or Rollback is running
	committing bool  // Commit is running
	switched   bool  // a COMMIT was refused
	rolledBack bool  // the transaction was rolled back by a statement
	why        error // set after either of them
}

// onCommit is the commit hook; true turns the COMMIT into a rollback.
func (c *conn) onCommit() bool {
	if c.tx == nil || c.tx.committing {
		return false
	}
	c.tx.switched = true
	return true
}

// onRollback is the rollback hook.
func (c *conn) onRollback() {
	if c.tx != nil && !c.tx.ending {
		c.tx.rolledBack = true
	}
}

// after checks whether the statement that returned err has ended the transaction.
func (t *tx) after(err error) error {
	if t.why != nil || !t.switched && !t.rolledBack {
		return err
	}
	// ROLLBACK as a statement succeeds; SQLite's own rollback comes with an error.
	t.why = &endedError{byStatement: t.switched || err == nil, cause: err}
	if err == nil || t.switched {
		return t.why
	}
	return err
}

// ended returns an *endedError if the transaction has ended too early.
func (t *tx) ended() error {
	if t.why == nil && (t.switched || t.rolledBack) {
		t.why = &endedError{byStatement: true}
	}
	return t.why
}

// Commit implements driver.Tx. After an error nothing of the transaction was committed.
func (t *tx) Commit() error {
	err := t.ended()
	if err == nil && t.sealed && !t.allowed {
		err = &endedError{byStatement: true}
	}
	if err != nil {
		return errors.Join(err, t.Rollback())
	}
	t.ending, t.committing = true, true
	_, err = t.c.native.ExecContext(context.Background(), "COMMIT", nil)
	t.committing = false
	if err != nil {
		// A COMMIT that was refused leaves the transaction open.
		_ = t.Rollback()
		return err
	}
	t.finish()
	return nil
}

// Rollback implements driver.Tx.
func (t *tx) Rollback() error {
	t.ending = true
	_, err := t.c.native.ExecContext(context.Background(), "ROLLBACK", nil)
	if err != nil && !isPlain(err) { // SQLite had not rolled it back by itself
		// Closing the connection ends the transaction, and then the turn.
		t.c.spent = true
		return err
	}
	t.finish()
	return nil
}

func (t *tx) finish() {
	t.c.tx = nil
	t.turn.leave(true)
}

// isPlain reports whether err is SQLITE_ERROR, SQLite's only answer to a BEGIN in a
// transaction, and to a ROLLBACK outside of one.
func isPlain(err error) bool {
	var code interface{ Code() int }
	return errors.As(err, &code) && code.Code() == 1
}

// endedError says that a transaction ended before its Commit or Rollback. Nothing was
// committed.
type endedError struct {
	byStatement bool  // not by SQLite itself
	cause       error // the error of the statement that ended it, or nil
}

func (e *endedError) Error() string {
	who := "SQLite rolled the transaction back"
	if e.byStatement {
		who = "a handler tried to end the transaction"
	}
	if e.cause == nil {
		return who
	}
	return who + ": " + e.cause.Error()
}

// Unwrap returns the cause, but no end of a context: it was that of the statement that ended
// the transaction, and later statements of other handlers get this error too.
func (e *endedError) Unwrap() error {
	if errors.Is(e.cause, context.DeadlineExceeded) || errors.Is(e.cause, context.Canceled) {
		return nil
	}
	return e.cause
}

// Is makes a statement's own COMMIT or ROLLBACK match inbox.ErrSwitched.
func (e *endedError) Is(target error) bool { return e.byStatement && target == inbox.ErrSwitched }

// isEnded recognises endedError for txn.Options.RolledBack.
func isEnded(err error) bool {
	var ended *endedError
	return errors.As(err, &ended)
}

// allowCommit allows the next Commit of t, or returns an error that matches
// inbox.ErrSwitched if a handler tried to end t. (If SQLite ended it, Commit says so.)
func allowCommit(t *txn.Txn) error {
	var why error
	// Raw fails if t has ended; Txn.Commit says so.
	_ = t.Raw(func(dc any) error {
		c, ok := dc.(*conn)
		switch {
		case !ok:
		case c.tx == nil: // the handler's *sql.Tx was ended, not t
			why = &endedError{byStatement: true}
		default:
			c.tx.allowed = true
			why = c.tx.ended()
		}
		return nil
	})
	if errors.Is(why, inbox.ErrSwitched) {
		return fmt.Errorf("%w: %w", inbox.ErrSwitched, why)
	}
	return nil
}

// tryCommit returns the error with which COMMIT would fail: SQLite checks deferred foreign keys
// before it calls the commit hook, which turns this COMMIT into a rollback. (PRAGMA
// foreign_key_check reads all tables, and finds violations that were there before.)
func tryCommit(ctx context.Context, t *txn.Txn) (err error) {
	done := t.Raw(func(dc any) error {
		c, ok := dc.(*conn)
		if !ok || c.tx == nil {
			err = &endedError{byStatement: true}
			return nil
		}
		if err = c.tx.ended(); err != nil {
			return nil
		}
		if _, err = c.native.ExecContext(ctx, "COMMIT", nil); c.tx.switched {
			err = nil
		}
		return nil
	})
	return errors.Join(done, err)
}

// readTx is a transaction that only reads: one snapshot, no lock, no gate.
type readTx struct{ c *conn }

func (c *conn) beginRead(ctx context.Context) (driver.Tx, error) {
	if _, err := c.native.ExecContext(ctx, "BEGIN", nil); err != nil {
		return nil, err
	}
	return readTx{c}, nil
}

func (t readTx) Commit() error { return t.exec("COMMIT") }

func (t readTx) Rollback() error { return t.exec("ROLLBACK") }

func (t readTx) exec(end string) error {
	_, err := t.c.native.ExecContext(context.Background(), end, nil)
	if err != nil {
		t.c.spent = true
	}
	return err
}
