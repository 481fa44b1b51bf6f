package txn

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"time"
)

// rollbackTimeout is after how long a ROLLBACK without an answer is cut, or left
// behind where the connection cannot be reached.
const rollbackTimeout = 5 * time.Second

// begin begins t on its connection, and gives up when ctx ends before that is done.
// What ctx does afterwards is nothing to the transaction: database/sql would roll it
// back, so ctx itself is never handed on.
func (t *Txn) begin(ctx context.Context, o *Options) error {
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
		return t.beginApart(ctx, own, o)
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

// CutAfter has the connection cut when ctx ends before the transaction has, whatever
// waits on it then. It does nothing where the connection cannot be reached. It is called
// at most once, right after Begin.
func (t *Txn) CutAfter(ctx context.Context) {
	if t.kill != nil && !t.ended {
		t.uncut = context.AfterFunc(ctx, t.kill)
	}
}

// beginApart begins in a goroutine that is left behind when ctx ends: nothing else
// ends a driver's wait on a connection that cannot be reached.
func (t *Txn) beginApart(ctx, own context.Context, o *Options) error {
	type begun struct {
		tx  *sql.Tx
		err error
	}
	answered := make(chan begun, 1)
	go func() {
		tx, err := t.conn.BeginTx(own, &o.SQL)
		answered <- begun{tx, err}
	}()
	select {
	case b := <-answered:
		if t.tx = b.tx; b.err != nil {
			t.release(true)
		}
		return b.err
	case <-ctx.Done():
		t.abandoned.run(func() {
			if b := <-answered; b.err == nil {
				_ = b.tx.Rollback()
			}
			t.release(true)
		})
		return unanswered(ctx)
	}
}

// unanswered is the error of a BEGIN without an answer; not with ctx's own error, which
// would be no connection's end for Classify.
func unanswered(ctx context.Context) error {
	return fmt.Errorf("no answer (%v): %w", context.Cause(ctx), driver.ErrBadConn)
}

// rollback rolls back, for at most rollbackTimeout.
func (t *Txn) rollback() {
	if t.kill != nil {
		defer time.AfterFunc(rollbackTimeout, t.kill).Stop()
	}
	if !t.unreachable {
		t.release(t.tx.Rollback() != nil)
		return
	}
	done := make(chan struct{})
	t.abandoned.run(func() {
		defer close(done)
		t.release(t.tx.Rollback() != nil)
	})
	timer := time.NewTimer(rollbackTimeout)
	defer timer.Stop()
	select {
	case <-done:
	case <-timer.C:
	}
}

// Guard cuts t's connection when ctx ends before stop is called, for a statement that
// runs under a context without an end: what a driver does to watch one costs more than
// a short statement. It reports false, and does nothing, where the connection cannot be
// reached.
func (t *Txn) Guard(ctx context.Context) (stop func() bool, ok bool) {
	if t.kill == nil {
		return nil, false
	}
	return context.AfterFunc(ctx, t.kill), true
}
