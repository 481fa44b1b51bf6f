package txn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"
)

// rollbackTimeout is how long a ROLLBACK may take. Then its connection is cut, or
// abandoned if it cannot be reached.
const rollbackTimeout = 5 * time.Second

// begin begins t on its connection, and gives up when ctx ends before that is done. The
// end of ctx after that must not affect the transaction; database/sql would roll it back,
// so ctx itself is never passed on.
func (t *Txn) begin(ctx context.Context) error {
	o := t.o
	own := context.WithoutCancel(ctx)
	var err error
	if o.Kill != nil {
		t.kill = o.Kill(t.conn)
		t.unreachable = t.kill == nil
	}
	switch {
	case o.Kill == nil || o.Begins:
		if t.tx, err = t.conn.BeginTx(own, &o.SQL); err != nil {
			t.release(true)
		}
		return err
	case t.unreachable:
		return t.beginApart(ctx, own)
	}
	stop := context.AfterFunc(ctx, t.kill)
	t.tx, err = t.conn.BeginTx(own, &o.SQL)
	switch {
	case !stop():
		if err == nil {
			_ = t.tx.Rollback() // on a cut connection: ends at once
		}
		err = unanswered(ctx)
		fallthrough
	case err != nil:
		t.release(true)
	}
	return err
}

// CutAfter cuts the connection if ctx ends before the transaction, even while a call
// waits on it. It does nothing if the connection cannot be reached. Of several contexts the
// first that ends counts.
func (t *Txn) CutAfter(ctx context.Context) {
	if t.kill == nil || t.ended {
		return
	}
	before, stop := t.uncut, context.AfterFunc(ctx, t.kill)
	t.uncut = func() {
		stop()
		if before != nil {
			before()
		}
	}
}

// beginApart begins in a goroutine that is abandoned when ctx ends: a driver's wait on a
// connection that cannot be reached cannot be ended.
func (t *Txn) beginApart(ctx, own context.Context) error {
	type begun struct {
		tx  *sql.Tx
		err error
	}
	answered := make(chan begun, 1)
	go func() {
		tx, err := t.conn.BeginTx(own, &t.o.SQL)
		answered <- begun{tx, err}
	}()
	select {
	case b := <-answered:
		if t.tx = b.tx; b.err != nil {
			t.release(true)
		}
		return b.err
	case <-ctx.Done():
		t.o.Abandoned.Run(func() {
			if b := <-answered; b.err == nil {
				_ = b.tx.Rollback()
			}
			t.release(true)
		})
		return unanswered(ctx)
	}
}

// unanswered is the error of a BEGIN without an answer. It does not wrap ctx's error,
// because Classify would then not return Connection.
func unanswered(ctx context.Context) error {
	return fmt.Errorf("no answer (%v): %w", context.Cause(ctx), driver.ErrBadConn)
}

// rollback rolls back, for at most rollbackTimeout. It returns nil if the database
// answered.
func (t *Txn) rollback() error {
	if t.kill != nil {
		defer time.AfterFunc(rollbackTimeout, t.kill).Stop()
	}
	if !t.unreachable {
		err := t.tx.Rollback()
		t.release(err != nil)
		return err
	}
	done := make(chan error, 1)
	t.o.Abandoned.Run(func() {
		err := t.tx.Rollback()
		t.release(err != nil)
		done <- err
	})
	timer := time.NewTimer(rollbackTimeout)
	defer timer.Stop()
	select {
	case err := <-done:
		return err
	case <-timer.C:
		return errNoAnswer
	}
}

// errNoAnswer is the error of a connection that did not answer ROLLBACK.
var errNoAnswer = errors.New("no answer to ROLLBACK")
