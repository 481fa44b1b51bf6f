package outbox

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"reflect"

	"github.com/headrace/headrace"
)

// ErrNoTransaction matches the refusal to publish through something that is in no
// transaction.
var ErrNoTransaction = errors.New("not in a transaction")

// Writer is what Outbox needs of a database; what Outbox() of a store returns is
// one.
type Writer interface {
	// Insert writes rows with a statement of q.
	Insert(ctx context.Context, q headrace.Execer, rows []Row) error
	// Signal wakes the relays of this process.
	Signal() *Signal
}

// Outbox writes events in transactions of the caller's. It is safe for concurrent
// use, though a transaction is not.
type Outbox struct{ w Writer }

// New returns the outbox that w writes, as in outbox.New(st.Outbox()).
func New(w Writer) *Outbox { return &Outbox{w: w} }

// Publish writes events, in this order, in the transaction tx: a *sql.Tx, *sqlx.Tx,
// bun.Tx, ent's Tx or the ConnPool of a gorm transaction, of the outbox's own
// database; or a *headrace.Tx, whose commit then writes them. They are published
// after the caller's commit, and never if it rolls back.
//
// The error matches headrace.ErrInvalidEvent or ErrNoTransaction where nothing was
// written for that reason. After any other the transaction can only be rolled back.
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
	rows := make([]Row, 0, len(events))
	for _, e := range events {
		e, err := e.Encode(nil)
		if err != nil {
			return fmt.Errorf("publish: %w", err)
		}
		rows = append(rows, RowOf(e))
	}
	if err := o.w.Insert(ctx, plain(tx), rows); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

// Wake makes the relay of this process look at once. Call it after the commit; it
// never blocks. It does nothing for relays of other processes.
func (o *Outbox) Wake() { o.w.Signal().Wake() }

// plain returns the *sql.Tx that tx is made around, where it shows it: some libraries'
// own ExecContext wants placeholders of another kind (bun's), and ours are the
// database's.
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

// inTransaction refuses what is known to be in no transaction. What can commit is
// in one; what can begin and cannot commit is a pool or a connection (*sql.DB,
// *sql.Conn, *sqlx.DB, bun.DB, gorm's pool of prepared statements).
func inTransaction(tx headrace.Execer) error {
	switch tx := tx.(type) {
	case nil:
		return fmt.Errorf("%w: the transaction is nil", ErrNoTransaction)
	case *sql.Tx:
		if tx == nil {
			return fmt.Errorf("%w: the transaction is nil", ErrNoTransaction)
		}
		return nil
	case *headrace.Tx:
		if tx == nil {
			return fmt.Errorf("%w: the transaction is nil", ErrNoTransaction)
		}
		return nil
	}
	t := reflect.TypeOf(tx)
	if _, commits := t.MethodByName("Commit"); commits {
		return nil
	}
	if _, begins := t.MethodByName("BeginTx"); begins {
		return fmt.Errorf("%w: a %T would commit the event alone; begin one and publish in it", ErrNoTransaction, tx)
	}
	return nil
}
