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

// DBTX is the interface that statements need: *sql.DB, *sql.Conn, *sql.Tx and *Tx
// implement it, and so do the generated code of sqlc, sqlx, bun and gorm's ConnPool.
type DBTX interface {
	Execer
	// PrepareContext prepares one; the caller closes it.
	PrepareContext(ctx context.Context, query string) (*sql.Stmt, error)
	// QueryContext runs a query; the caller closes the rows.
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	// QueryRowContext runs a query for one row.
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Execer is the part of DBTX that writing into the outbox needs: *sql.Tx, *Tx, bun.Tx,
// *sqlx.Tx, gorm's ConnPool and ent's Tx implement it.
type Execer interface {
	// ExecContext runs a statement, as in database/sql.
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}

// Effects is a piece of work done in a transaction.
type Effects func(ctx context.Context, tx *Tx) error

// Errors to decide on.
var (
	// ErrForbidden matches the error of a statement that would end, begin or divide the
	// transaction, or change the session for other handlers.
	ErrForbidden = errors.New("statement not allowed in a handler")
	// ErrTxDone matches a use of a Tx after its handler has returned.
	ErrTxDone = errors.New("the handler has returned: its Tx cannot be used any more")
	// ErrTxBusy matches a use of a Tx from within another call of it: the function of Raw,
	// a source of CopyFrom, or a function of a batch. It would wait for itself.
	ErrTxBusy = errors.New("the transaction is in use by another call: the function of Raw, a source of CopyFrom and the functions of a batch must not use it, nor may another goroutine")
	// ErrNoTx matches a use of a nil Tx, such as TxFrom returns for a context that
	// carries none.
	ErrNoTx = errors.New("no transaction: the message's context carries none; is the Router attached (consumer.Attach)?")
	// ErrNotAlone matches a use of Raw or SQL in a handler that shares its
	// transaction with others.
	ErrNotAlone = errors.New("needs a transaction of its own: register the handler with consumer.Alone()")
	// ErrNoAnswer matches a use of Answer in a handler of several messages (HandleBatch).
	ErrNoAnswer = errors.New("this Tx is not of one message, so there is nothing to answer: use Handle or HandleLeased")
	// ErrNoScope matches a use of Newer on a Tx that is not of a consumer's handler, so
	// that there is no scope for the versions.
	ErrNoScope = errors.New("this Tx has no scope: versions are kept for handlers of a consumer")
	// ErrOrder matches the error of consumer.Attach, and of Ready and Alive of its consumer,
	// where a middleware of the Router undoes what headrace promises, or where handlers,
	// middlewares and Attach were added to the Router in the wrong order. Its text says what
	// to do. Messages stay unacknowledged.
	ErrOrder = errors.New("middlewares in the wrong order")
)

// Versions store the newest applied version of each entity. Stores implement it
// (inbox.Versions); a Tx only passes its handler's calls on.
type Versions interface {
	// Newer raises the version of entity in scope to version, in t, and reports whether
	// it was lower or there was none; otherwise it leaves it unchanged. It locks the
	// entity's row until t ends, and waits while another transaction holds it. An entity
	// that is not a valid key (package inbox) is an error.
	Newer(ctx context.Context, t *txn.Txn, scope, entity string, version int64) (bool, error)
}

// Tx is the transaction of a handler: its statements and its events are committed
// together with the record that the message was handled, or not at all. One goroutine at
// a time may use it, and not after the handler returned.
//
// It has no Commit and no Rollback. Return an error to roll back.
type Tx struct {
	txn    *txn.Txn
	o      TxOptions
	events []Event
	answer []byte
	bad    atomic.Pointer[error] // set once
	done   atomic.Bool
	used   atomic.Bool
	raw    rawCall
	left   leftovers
}

// TxOptions are an engine's data about the handler of a Tx.
type TxOptions struct {
	// Alone says that no other handler shares the transaction.
	Alone bool
	// Answers says that the handler has one message, so that it may answer.
	Answers bool
	// Encoder turns Event.Value into bytes; nil means JSON.
	Encoder Encoder
	// Trace is the default for Event.Trace.
	Trace TraceContext
	// Scope is the handler's scope, Versions store its versions. Without them Newer
	// returns ErrNoScope.
	Scope    string
	Versions Versions
}

// NewTx returns a handler's Tx on t. It is for engines and for tests of handlers.
func NewTx(t *txn.Txn, o TxOptions) *Tx { return &Tx{txn: t, o: o} }

type txKey struct{}

// WithTx returns a context that carries tx, for code that gets a context and no
// transaction, such as a Watermill handler.
func WithTx(ctx context.Context, tx *Tx) context.Context {
	return context.WithValue(ctx, txKey{}, tx)
}

// TxFrom returns the transaction that ctx carries, and whether it carries one. In a handler
// of a Watermill Router with consumer.Attach, the message's context does.
func TxFrom(ctx context.Context) (*Tx, bool) {
	tx, ok := ctx.Value(txKey{}).(*Tx)
	return tx, ok && tx != nil
}

// Publish writes events to the outbox with this transaction's commit. It encodes or
// copies them at once, so later changes of a Value, a Payload or a Metadata have no
// effect. If an event cannot be encoded or has no topic, the error matches
// ErrInvalidEvent, and none of the call's events is kept.
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
		e, err := e.Encode(tx.o.Encoder)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		encoded = append(encoded, e)
	}
	tx.events = append(tx.events, encoded...)
	return nil
}

// nestedSavepoint is a name that no other code of ours uses.
const nestedSavepoint = "headrace_nested"

// Nested runs f so that its statements and events count only if it returns nil. Otherwise
// it returns f's error, and the transaction continues as before f. It costs two round
// trips to the database.
//
// If the database fails to set or undo the savepoint, the message fails, even if the
// handler ignores the error.
func (tx *Tx) Nested(ctx context.Context, f Effects) (err error) {
	if err := tx.usable(); err != nil {
		return err
	}
	if err := tx.raw.free(); err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("nested: %w", err)
	}
	// Once begun, ctx must not cut off the savepoint: it would be unknown whether it is
	// set, and a rollback could go to another one of the same name.
	own := context.WithoutCancel(ctx)
	if err := tx.txn.Savepoint(nestedSavepoint).Set(own); err != nil {
		tx.left.ran(err)
		return tx.refuse(fmt.Errorf("nested: %w", err))
	}
	kept, finished, failed, open := kept{len(tx.events), tx.answer}, false, tx.left.failed, tx.left.open()
	defer func() {
		if finished {
			return
		}
		// f panicked: undo, and let the panic continue to the consumer.
		_ = tx.undo(own, kept)
	}()
	err = f(ctx, tx)
	finished = true
	tx.left.close(open)
	tx.left.failed = failed // failures in f are undone, or the release fails
	if err != nil {
		tx.left.everFailed = true
		return errors.Join(err, tx.undo(own, kept))
	}
	if err := tx.txn.Savepoint(nestedSavepoint).Release(own); err != nil {
		// f ignored the error of a statement: PostgreSQL only allows a rollback now.
		return errors.Join(fmt.Errorf("nested: %w", err), tx.undo(own, kept))
	}
	return nil
}

// kept is what a Tx has outside of the database: how many events, and the answer.
type kept struct {
	events int
	answer []byte
}

// undo goes back to the newest savepoint and removes it.
func (tx *Tx) undo(ctx context.Context, k kept) error {
	tx.events, tx.answer = tx.events[:k.events], k.answer
	s := tx.txn.Savepoint(nestedSavepoint)
	err := s.RollbackTo(ctx)
	if err == nil {
		err = s.Release(ctx)
	}
	if err != nil {
		tx.left.ran(err)
		return tx.refuse(fmt.Errorf("nested: %w", err))
	}
	return nil
}

// ExecContext runs a statement in the transaction.
func (tx *Tx) ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error) {
	if err := tx.allowed(query); err != nil {
		return nil, err
	}
	result, err := tx.txn.ExecContext(ctx, query, args...)
	tx.left.ran(err)
	return result, err
}

// PrepareContext prepares a statement in the transaction. The statement is closed with the
// transaction, if the caller does not close it before. Close the rows of its queries before
// the handler returns: Tx does not see them, and on PostgreSQL rows that stay open make the
// message fail. On SQLite, a statement that is closed while its rows are open can end the
// process: its driver then uses freed memory.
func (tx *Tx) PrepareContext(ctx context.Context, query string) (*sql.Stmt, error) {
	if err := tx.allowed(query); err != nil {
		return nil, err
	}
	stmt, err := tx.txn.PrepareContext(ctx, query)
	tx.left.prepared(err)
	return stmt, err
}

// QueryContext runs a query in the transaction. The caller closes the rows before the
// next statement, since they use the connection; otherwise they are closed when the
// handler has returned.
func (tx *Tx) QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := tx.allowed(query); err != nil {
		return nil, err
	}
	rows, err := tx.txn.QueryContext(ctx, query, args...)
	tx.left.queried(rows, err)
	return rows, err
}

// QueryRowContext runs a query for one row in the transaction.
func (tx *Tx) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	if err := tx.allowed(query); err != nil {
		return rowWith(ctx, err)
	}
	row := tx.txn.QueryRowContext(ctx, query, args...)
	tx.left.queriedRow(row)
	return row
}

// Newer reports whether version is newer than the applied version of entity in the
// handler's scope, and stores it with this transaction's commit. Handlers call
// inbox.Newer, which documents more.
func (tx *Tx) Newer(ctx context.Context, entity string, version int64) (bool, error) {
	if err := tx.usable(); err != nil {
		return false, err
	}
	if err := tx.raw.free(); err != nil {
		return false, err
	}
	if tx.o.Scope == "" || tx.o.Versions == nil {
		return false, ErrNoScope
	}
	newer, err := tx.o.Versions.Newer(ctx, tx.txn, tx.o.Scope, entity, version)
	if newer || err != nil { // otherwise it wrote nothing
		tx.left.ran(err)
	}
	return newer, err
}

// Raw calls f with the driver's connection, for operations that database/sql lacks (pgx
// CopyFrom), in a goroutine of its own. f must not use tx: then the error matches ErrTxBusy. Only
// for handlers registered with consumer.Alone.
func (tx *Tx) Raw(f func(driverConn any) error) error {
	if err := tx.alone(); err != nil {
		return err
	}
	tx.left.outOfSight()
	return tx.Native().RawApart(f)
}

// SQL returns the transaction as a *sql.Tx, for libraries that need one. Do not end it:
// the consumer would stop with an error that names the handler. Only for handlers
// registered with consumer.Alone; otherwise ErrNotAlone.
func (tx *Tx) SQL() (*sql.Tx, error) {
	if err := tx.alone(); err != nil {
		return nil, err
	}
	tx.left.outOfSight()
	return tx.txn.SQL(), nil
}

// SetTrace sets the default for Event.Trace, for later events. It is for engines, which
// begin a span when the handler begins.
func (tx *Tx) SetTrace(t TraceContext) { tx.o.Trace = t }

// Events returns the events passed to Publish. It is for engines and tests.
func (tx *Tx) Events() []Event { return tx.events }

// Close makes every later use fail with ErrTxDone, and returns the first error of this Tx
// that must fail the message even if the handler ignored it. It is for engines; it may be
// called while a stuck handler still uses tx.
func (tx *Tx) Close() error {
	tx.done.Store(true)
	if bad := tx.bad.Load(); bad != nil {
		return *bad
	}
	return nil
}

// Used reports whether the handler used tx: a statement, an event, a call of Newer, Raw
// or SQL. It is for engines.
func (tx *Tx) Used() bool { return tx.used.Load() }

// refuse stores err for Close if it is the first, and returns it.
func (tx *Tx) refuse(err error) error {
	tx.bad.CompareAndSwap(nil, &err)
	return err
}

func (tx *Tx) alone() error {
	if err := tx.usable(); err != nil || tx.o.Alone {
		return err
	}
	return ErrNotAlone
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
	if err := tx.raw.free(); err != nil {
		return err
	}
	found := forbidden(query)
	tx.left.cursors = tx.left.cursors || found.cursor
	switch {
	case found.verb == "":
	case !found.session:
		return tx.refuse(fmt.Errorf("%w: %s", ErrForbidden, found.verb))
	case !tx.o.Alone:
		return tx.refuse(fmt.Errorf("%w: %s (in a handler without consumer.Alone)", ErrForbidden, found.verb))
	default:
		tx.left.session = true
		tx.left.lasting = tx.left.lasting || found.lasting
	}
	return nil
}
