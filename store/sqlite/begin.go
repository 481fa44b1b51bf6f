package sqlite

import (
	"context"
	"database/sql/driver"
	"errors"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// A process that waits for the write lock tries at 0, 1 and 3 ms, in slices of that
// length: SQLite's own schedule grows to 100 ms, and would miss most of the gaps that a
// busy process leaves (see gate.go). After a while it tries less often.
const (
	quickSlice = 3 * time.Millisecond
	slowSlice  = 18 * time.Millisecond // 0, 1, 3, 8 and 18 ms
	quickFor   = 300 * time.Millisecond
)

// entry is what Store.Begin passes to a connection, in the context of BeginTx: the turn
// that it has already, and the context that bounds the wait. That is not the context of
// the transaction, which must outlive it.
type entry struct {
	wait context.Context
	turn *turn
}

type entryKey struct{}

func withEntry(ctx context.Context, t *turn) context.Context {
	return context.WithValue(ctx, entryKey{}, entry{ctx, t})
}

// BeginTx implements driver.ConnBeginTx: BEGIN IMMEDIATE after the gate, or a snapshot
// for reading if opts ask for one.
func (c *conn) BeginTx(ctx context.Context, opts driver.TxOptions) (driver.Tx, error) {
	if c.gate == nil || opts.ReadOnly {
		return c.beginRead(ctx)
	}
	e, given := ctx.Value(entryKey{}).(entry)
	if !given {
		bounded, cancel := bound(ctx, c.busy)
		defer cancel()
		t, err := c.gate.enter(bounded)
		if err != nil {
			return nil, err
		}
		e = entry{bounded, t}
	}
	bounded, cancel := bound(e.wait, c.busy)
	defer cancel()
	if err := c.lock(bounded); err != nil {
		e.turn.leave(false)
		return nil, err
	}
	c.tx = &tx{c: c, turn: e.turn, sealed: given}
	return c.tx, nil
}

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// bound gives ctx a deadline if it has none.
func bound(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc) {
	if _, ok := ctx.Deadline(); ok {
		return ctx, func() {}
	}
	return context.WithTimeout(ctx, timeout)
}

// lock tries to take the write lock until ctx ends.
func (c *conn) lock(ctx context.Context) error {
	slice := quickSlice
	for start := time.Now(); ; {
		err := c.try(ctx, slice)
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return waited(ctx, err, false)
		case !errors.Is(err, context.DeadlineExceeded) && txn.Classify(err) != txn.LockTimeout:
			return err
		}
		if time.Since(start) > quickFor {
			slice = slowSlice
		}
	}
}

// try tries to take the write lock for the time of a slice.
func (c *conn) try(ctx context.Context, slice time.Duration) error {
	ctx, cancel := context.WithTimeout(ctx, slice)
	defer cancel()
	_, err := c.native.ExecContext(ctx, "BEGIN IMMEDIATE", nil)
	if err == nil || ctx.Err() == nil {
		return err
	}
	// The slice may have ended just after the lock was taken; on a slow machine that can
	// happen every time. SQL cannot ask whether a transaction is open, only begin
	// another.
	if _, open := c.native.ExecContext(context.Background(), "BEGIN", nil); isPlain(open) {
		return nil
	}
	_, _ = c.native.ExecContext(context.Background(), "ROLLBACK", nil)
	return err
}
