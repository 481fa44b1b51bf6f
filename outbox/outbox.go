package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"go.opentelemetry.io/otel/propagation"

	"github.com/headrace/headrace"
)

// ErrNoTransaction matches the error of Publish for a value that is not in a transaction.
var ErrNoTransaction = errors.New("not in a transaction")

// Writer is the part of a store that Outbox needs; Outbox() of a store returns one.
type Writer interface {
	// Insert writes rows with a statement of q.
	Insert(ctx context.Context, q headrace.Execer, rows []Row) error
	// Signal wakes the relays of this process.
	Signal() *Signal
}

// Outbox writes events in the caller's transactions. It is safe for concurrent use,
// though a transaction is not.
type Outbox struct{ w Writer }

// New returns an outbox that writes to w, as in outbox.New(st.Outbox()).
func New(w Writer) *Outbox { return &Outbox{w: w} }

// Publish writes events, in this order, in the transaction tx: a *sql.Tx, *sqlx.Tx,
// bun.Tx, ent's Tx or the ConnPool of a gorm transaction, of the outbox's own database;
// or a *headrace.Tx, whose commit then writes them. The relay publishes them after the
// caller's commit, and never if it rolls back. An event without a Trace gets that of the
// span in ctx, so that a trace goes on from an HTTP request to the handler of its event.
//
// If the error matches headrace.ErrInvalidEvent or ErrNoTransaction, nothing was written.
// After any other error the transaction can only be rolled back.
func (o *Outbox) Publish(ctx context.Context, tx headrace.Execer, events ...headrace.Event) error {
	if own, ok := tx.(*headrace.Tx); ok {
		return own.Publish(events...)
	}
	if err := inTransaction(tx); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	if len(events) == 0 {
		return nil
	}
	rows, trace := make([]Row, 0, len(events)), traceOf(ctx)
	for _, e := range events {
		e, err := e.Encode(nil)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		if e.Trace == (headrace.TraceContext{}) {
			e.Trace = trace
		}
		rows = append(rows, RowOf(e))
	}
	if err := o.w.Insert(ctx, plain(tx), rows); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// traceOf returns the trace context of the span in ctx; zero if there is none.
func traceOf(ctx context.Context) headrace.TraceContext {
	t := propagation.MapCarrier{}
	propagation.TraceContext{}.Inject(ctx, t)
	return headrace.TraceFrom(t)
}

// Wake makes the relay of this process poll at once. Call it after the commit. It never
// blocks, and does nothing for relays of other processes.
func (o *Outbox) Wake() { o.w.Signal().Wake() }

// plain returns the *sql.Tx inside tx, if it is exported: some libraries' ExecContext
// (bun's) wants placeholders of another kind than the database's, which we use.
func plain(tx headrace.Execer) headrace.Execer {
	v := reflect.Indirect(reflect.ValueOf(tx))
	if v.Kind() != reflect.Struct {
		return tx
	}
	field, ok := v.Type().FieldByName("Tx")
	if !ok || !field.Anonymous || field.Type != reflect.TypeFor[*sql.Tx]() || len(field.Index) != 1 {
		return tx
	}
	if inner := v.Field(field.Index[0]).Interface().(*sql.Tx); inner != nil {
		return inner
	}
	return tx
}

// inTransaction rejects values that are known to be in no transaction. A value with
// Commit is in one. A value with BeginTx but no Commit is a pool or a connection
// (*sql.DB, *sql.Conn, *sqlx.DB, bun.DB, gorm's pool of prepared statements).
func inTransaction(tx headrace.Execer) error {
	v := reflect.ValueOf(tx)
	if !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		return fmt.Errorf("%w: the transaction is nil", ErrNoTransaction)
	}
	t := v.Type()
	if _, commits := t.MethodByName("Commit"); commits {
		return nil
	}
	if _, begins := t.MethodByName("BeginTx"); begins {
		return fmt.Errorf("%w: a %T would commit the event alone; begin one and publish in it", ErrNoTransaction, tx)
	}
	return nil
}
