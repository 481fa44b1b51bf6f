package headrace

import (
	"database/sql/driver"
	"fmt"
	"sync/atomic"

	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/store/txn"
)

// Native is what a driver of a store needs to give a handler its transaction in the types
// of the driver's own library (postgres.PgxTx). It keeps the rules of Tx: the same
// statements are refused, the same errors come after the handler has returned, and what
// is left open is closed. One goroutine at a time may use it.
type Native struct{ tx *Tx }

// Native returns the access of drivers to tx. It is for drivers.
func (tx *Tx) Native() Native { return Native{tx} }

// Allowed returns an error if the handler may not run query now: ErrForbidden, ErrTxDone,
// ErrTxBusy or ErrNoTx.
func (n Native) Allowed(query string) error { return n.tx.allowed(query) }

// Usable returns ErrTxDone after the handler has returned, and ErrNoTx for a nil Tx.
func (n Native) Usable() error { return n.tx.usable() }

// OutOfSight returns ErrNotAlone in a handler without consumer.Alone. Otherwise it notes that
// statements of the handler may run unseen.
func (n Native) OutOfSight() error {
	if err := n.tx.alone(); err != nil {
		return err
	}
	n.tx.left.outOfSight()
	return nil
}

// Raw calls f with the driver's connection, and no other call uses the connection
// meanwhile: a call of f's, or another Raw, fails with ErrTxBusy. It fails once the
// transaction has given the connection back. The error is f's own, and so is a panic. f must
// not call runtime.Goexit.
func (n Native) Raw(f func(driverConn any) error) error {
	if n.tx == nil {
		return ErrNoTx
	}
	return n.tx.raw.run(n.tx.txn, f)
}

// RawApart is Raw for an f that calls functions of the user. If f has called runtime.Goexit,
// this ends the goroutine when the connection is free again.
func (n Native) RawApart(f func(driverConn any) error) error {
	end := func() {}
	err := n.Raw(func(conn any) error {
		var panicked *attempt.Panic
		var err error
		if panicked, end, err = attempt.Apart(func() error { return f(conn) }); panicked != nil {
			panic(panicked)
		}
		return err
	})
	end()
	return err
}

// Ran notes the result of a statement that may have written.
func (n Native) Ran(err error) { n.tx.left.ran(err) }

// Opened notes rows, or results of statements, that the handler may leave open. When it has
// returned they are closed; end reports whether a statement has failed. It may be called
// after the handler has closed them, and more than once.
func (n Native) Opened(end func() (failed bool)) { n.tx.left.ends = append(n.tx.left.ends, end) }

// Refuse makes the message fail, even if the handler ignores the error, which matches
// ErrForbidden: verb would end the transaction.
func (n Native) Refuse(verb string) error {
	if err := n.tx.usable(); err != nil {
		return err
	}
	return n.tx.refuse(fmt.Errorf("%w: %s: return nil to commit, an error to roll back", ErrForbidden, verb))
}

// Savepoint counts a savepoint that the driver sets.
func (n Native) Savepoint() { n.tx.txn.Savepoint("").Count() }

// rawCall is the call of a function with the driver's connection. It runs under the lock that
// database/sql has for the connection. The driver is called under the same lock, too late to
// find out that the function uses the transaction.
type rawCall struct{ runs atomic.Bool }

// run passes a panic of f on when the lock is free again: database/sql would keep it, and
// wait for the end of the transaction. After runtime.Goexit in f it waits for that too.
func (c *rawCall) run(t *txn.Txn, f func(driverConn any) error) error {
	if !c.runs.CompareAndSwap(false, true) {
		return ErrTxBusy
	}
	defer c.runs.Store(false)
	var panicked *attempt.Panic
	err := t.Raw(func(conn any) (err error) {
		if wrapped, ok := conn.(interface{ Unwrap() driver.Conn }); ok {
			conn = wrapped.Unwrap()
		}
		panicked, err = attempt.Catch(func() error { return f(conn) })
		return err
	})
	if panicked != nil {
		panic(panicked)
	}
	return err
}

// free returns ErrTxBusy while a function runs.
func (c *rawCall) free() error {
	if c.runs.Load() {
		return ErrTxBusy
	}
	return nil
}
