package headrace

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"sync/atomic"

	"github.com/headrace/headrace/store/txn"
)

// DBTX is what a statement needs to run: *sql.DB, *sql.Conn, *sql.Tx and *Tx have
// it, and so do the generated code of sqlc, sqlx, bun and gorm's ConnPool.
type DBTX interface {
	// ExecContext runs a statement.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
	// PrepareContext prepares one; the caller closes it.
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	// QueryContext runs a query; the caller closes the rows.
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	// QueryRowContext runs a query for one row.
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Effects is a piece of work done in a transaction.
type Effects func(ctx context.Context, tx *Tx) error

// Errors of Tx.
var (
	// ErrForbidden matches the refusal of a statement that would end, begin or
	// divide the transaction, or change the session under other handlers.
	ErrForbidden = errors.New("statement not allowed in a handler")
	// ErrTxDone matches a use of a Tx after its handler has returned.
	ErrTxDone = errors.New("the handler has returned: its Tx cannot be used any more")
	// ErrNoTx matches a use of a nil Tx, such as TxFrom returns for a context that
	// carries none.
	ErrNoTx = errors.New("no transaction: the message's context carries none; is the Router attached (consumer.Attach), or the handler behind inbox.Middleware?")
	// ErrNotAlone matches a use of Raw or SQL in a handler that shares its
	// transaction with others.
	ErrNotAlone = errors.New("needs a transaction of its own: register the handler with consumer.Alone()")
	// ErrNoScope matches a use of Newer on a Tx that is not of a consumer's handler:
	// nobody knows whose versions are meant.
	ErrNoScope = errors.New("this Tx has no scope: versions are kept for handlers of a consumer")
)

// Versions remember the newest version that was applied of each entity. Stores have
// them (inbox.Versions); a Tx only passes on what its handler asks.
type Versions interface {
	// Newer raises the version of entity in scope to version, in t, and reports
	// whether it was lower or there was none; false leaves it as it is. It locks the
	// entity's row until t ends, and waits while another transaction holds it.
	Newer(ctx context.Context, t *txn.Txn, scope, entity string, version int64) (bool, error)
}

// Tx is the transaction of a handler: its statements and the events it publishes
// are committed together with the record that the message was handled, or not at
// all. It is used by one goroutine at a time, and not after the handler returned.
//
// It has no Commit and no Rollback. Return an error to roll back.
type Tx struct {
	txn    *txn.Txn
	o      TxOptions
	events []Event
	bad    atomic.Pointer[error] // set once
	done   atomic.Bool
	used   atomic.Bool
}

// TxOptions are what an engine knows about the handler that a Tx is for.
type TxOptions struct {
	// Alone says that no other handler shares the transaction.
	Alone bool
	// Encode turns Event.Value into bytes; nil means JSON.
	Encode func(any) ([]byte, error)
	// Trace is the default for Event.Trace.
	Trace TraceContext
	// Scope is the handler's scope, and Versions keep its versions. Without them Newer
	// is refused with ErrNoScope.
	Scope    string
	Versions Versions
}

// NewTx returns the Tx that a handler is given on t. It is for engines and for
// tests of handlers.
func NewTx(t *txn.Txn, o TxOptions) *Tx { return &Tx{txn: t, o: o} }

// Publish writes events to the outbox with this transaction's commit. They are
// encoded or copied at once, so a later change of a Value, a Payload or a Metadata
// is not seen; an event that cannot be encoded or has no topic is refused with an
// error that matches ErrInvalidEvent, and then none of the call's events is kept.
func (tx *Tx) Publish(events ...Event) error {
	if err := tx.usable(); err != nil {
		return err
	}
	encoded := make([]Event, 0, len(events))
	for _, e := range events {
		if e.Trace == (TraceContext{}) {
			e.Trace = tx.o.Trace
		}
		e.Payload, e.Metadata = bytes.Clone(e.Payload), maps.Clone(e.Metadata)
		e, err := e.Encode(tx.o.Encode)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		encoded = append(encoded, e)
	}
	tx.events = append(tx.events, encoded...)
	return nil
}

// Nested runs f so that its statements and events count only if it returns nil;
// its error is returned, and the transaction goes on as before f. It costs two
// round trips to the database.
//
// Where the database does not do its part, the message fails, even if the handler
// passes over the error.
func (tx *Tx) Nested(ctx context.Context, f Effects) (err error) {
	if err := tx.usable(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nested: %w", err)
	}
	// Once begun, the savepoint is not cut off by ctx: nobody would know whether it is
	// set, and a rollback to it could go to another one of the same name.
	own := context.WithoutCancel(ctx)
	if err := tx.txn.Savepoint(own); err != nil {
		return tx.refuse(fmt.Errorf("nested: %w", err))
	}
	kept, finished := len(tx.events), false
	defer func() {
		if finished {
			return
		}
		// f panicked: undo, and let the panic go on to the consumer.
		_ = tx.undo(own, kept)
	}()
	err = f(ctx, tx)
	finished = true
	if err != nil {
		return errors.Join(err, tx.undo(own, kept))
	}
	if err := tx.txn.Release(own); err != nil {
		// f passed over the error of a statement: PostgreSQL lets it only go back.
		return errors.Join(fmt.Errorf("nested: %w", err), tx.undo(own, kept))
	}
	return nil
}

// undo goes back to the newest savepoint and takes it away.
func (tx *Tx) undo(ctx context.Context, kept int) error {
	tx.events = tx.events[:kept]
	if err := tx.txn.RollbackTo(ctx); err != nil {
		return tx.refuse(fmt.Errorf("nested: %w", err))
	}
	if err := tx.txn.Release(ctx); err != nil {
		return tx.refuse(fmt.Errorf("nested: %w", err))
	}
	return nil
}

// ExecContext runs a statement in the transaction.
func (tx *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := tx.allowed(query); err != nil {
		return nil, err
	}
	return tx.txn.ExecContext(ctx, query, args...)
}

// PrepareContext prepares a statement in the transaction; the caller closes it.
func (tx *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := tx.allowed(query); err != nil {
		return nil, err
	}
	return tx.txn.PrepareContext(ctx, query)
}

// QueryContext runs a query in the transaction; the caller closes the rows before
// the next statement, since they hold the connection.
func (tx *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := tx.allowed(query); err != nil {
		return nil, err
	}
	return tx.txn.QueryContext(ctx, query, args...)
}

// QueryRowContext runs a query for one row in the transaction.
func (tx *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := tx.allowed(query); err != nil {
		return rowWith(ctx, err)
	}
	return tx.txn.QueryRowContext(ctx, query, args...)
}

// Newer reports whether version is newer than what was applied of entity in the
// handler's scope, and remembers it with this transaction's commit. Handlers call
// inbox.Newer, which says more.
func (tx *Tx) Newer(ctx context.Context, entity string, version int64) (bool, error) {
	if err := tx.usable(); err != nil {
		return false, err
	}
	if tx.o.Scope == "" || tx.o.Versions == nil {
		return false, ErrNoScope
	}
	return tx.o.Versions.Newer(ctx, tx.txn, tx.o.Scope, entity, version)
}

// Raw gives f the driver's connection, for what database/sql cannot say (pgx
// CopyFrom). Only for handlers registered with consumer.Alone.
func (tx *Tx) Raw(f func(driverConn any) error) error {
	if err := tx.alone(); err != nil {
		return err
	}
	return tx.txn.Raw(f)
}

// SQL returns the transaction as a *sql.Tx, for libraries that insist on one. Do
// not end it: the consumer would stop with an error that names the handler. Only
// for handlers registered with consumer.Alone; otherwise ErrNotAlone.
func (tx *Tx) SQL() (*sql.Tx, error) {
	if err := tx.alone(); err != nil {
		return nil, err
	}
	return tx.txn.SQL(), nil
}

// SetTrace sets the default for Event.Trace, for the events published from then on. It
// is for engines, which begin a span when the handler begins.
func (tx *Tx) SetTrace(t TraceContext) { tx.o.Trace = t }

// Events returns what Publish has gathered. It is for engines and tests.
func (tx *Tx) Events() []Event { return tx.events }

// Close makes every later use fail with ErrTxDone, and returns the first refusal
// that the handler met with, so that a swallowed one still fails the message. It
// is for engines; it may be called while a stuck handler still uses tx.
func (tx *Tx) Close() error {
	tx.done.Store(true)
	if bad := tx.bad.Load(); bad != nil {
		return *bad
	}
	return nil
}

// Used reports whether anything was done through tx: a statement, an event, a call of
// Newer, Raw or SQL. It is for engines.
func (tx *Tx) Used() bool { return tx.used.Load() }

// refuse remembers err for Close if it is the first, and returns it.
func (tx *Tx) refuse(err error) error {
	tx.bad.CompareAndSwap(nil, &err)
	return err
}

func (tx *Tx) alone() error {
	if err := tx.usable(); err != nil {
		return err
	}
	if !tx.o.Alone {
		return ErrNotAlone
	}
	return nil
}

func (tx *Tx) usable() error {
	if tx == nil {
		return ErrNoTx
	}
	if tx.done.Load() {
		return ErrTxDone
	}
	if !tx.used.Load() {
		tx.used.Store(true)
	}
	return nil
}

func (tx *Tx) allowed(query string) error {
	if err := tx.usable(); err != nil {
		return err
	}
	if verb := forbidden(query, tx.o.Alone); verb != "" {
		return tx.refuse(fmt.Errorf("%w: %s", ErrForbidden, verb))
	}
	return nil
}
