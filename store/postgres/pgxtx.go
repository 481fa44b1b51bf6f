package postgres

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/headrace/headrace"
)

// ErrNotPgx matches the error of PgxTx for a transaction of a store that OpenPool has not
// made.
var ErrNotPgx = errors.New("the store has no connections of pgx: open it with postgres.OpenPool(ctx, pool, options)")

// PgxTx returns the transaction of a handler as a pgx.Tx, for sqlc's code for pgx/v5,
// CopyFrom and SendBatch. The store must be one of OpenPool; otherwise the error matches
// ErrNotPgx. What is done through either of tx and the pgx.Tx is committed or rolled back
// together.
//
// The rules of tx apply to the pgx.Tx. One goroutine at a time may use it, and not after
// the handler returned: then its errors match headrace.ErrTxDone. A source of CopyFrom and
// the functions of a batch must use neither of the two: the errors match headrace.ErrTxBusy.
// A statement of tx.PrepareContext is not seen there, and would wait for itself. Statements that would
// end the transaction or change the session are refused with headrace.ErrForbidden, and
// so are Commit and Rollback; the message fails even if the handler ignores that. Return
// nil to commit and an error to roll back. Rows and batches that are left open are closed
// when the handler has returned.
//
// Begin sets a savepoint, as in pgx, and Commit and Rollback of its result end it. Events
// of tx.Publish do not belong to the savepoint; they do with tx.Nested.
//
// In a handler without consumer.Alone, Conn returns nil and LargeObjects returns one whose
// methods fail.
func PgxTx(tx *headrace.Tx) (pgx.Tx, error) {
	t := &pgxTx{handlerTx: &handlerTx{n: tx.Native()}}
	if err := t.n.Usable(); err != nil {
		return nil, err
	}
	err := t.n.Raw(func(driverConn any) error {
		c, ok := driverConn.(*poolConn)
		if !ok {
			return ErrNotPgx
		}
		t.conn, t.tx = c, c.tx
		return nil
	})
	if err != nil {
		return nil, err
	}
	return t, nil
}

// handlerTx is the transaction of a handler, and its connection.
type handlerTx struct {
	n    headrace.Native
	conn *poolConn
}

// locked calls f with the lock of database/sql's connection, which is not granted once the
// transaction has given the connection back.
func (h *handlerTx) locked(f func() error) (err error) {
	if lost := h.n.Raw(func(any) error { err = f(); return nil }); lost != nil {
		return lost
	}
	return err
}

// run calls f, which may use the connection, if the handler may run the queries.
func (h *handlerTx) run(f func() error, queries ...string) error {
	if err := h.n.Usable(); err != nil {
		return err
	}
	for _, query := range queries {
		if err := h.n.Allowed(query); err != nil {
			return err
		}
	}
	return h.locked(f)
}

// wrote is run for statements that may have written.
func (h *handlerTx) wrote(f func() error, queries ...string) error {
	return h.run(func() error {
		err := f()
		h.n.Ran(err)
		return err
	}, queries...)
}

// pgxTx is the transaction of a handler, or a savepoint in it.
type pgxTx struct {
	*handlerTx
	tx     pgx.Tx
	nested bool
}

// Begin implements pgx.Tx.
func (t *pgxTx) Begin(ctx context.Context) (pgx.Tx, error) {
	inner := &pgxTx{handlerTx: t.handlerTx, nested: true}
	err := t.wrote(func() (err error) {
		t.n.Savepoint()
		inner.tx, err = t.tx.Begin(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	return inner, nil
}

// Commit implements pgx.Tx: it releases the savepoint.
func (t *pgxTx) Commit(ctx context.Context) error {
	if !t.nested {
		return t.n.Refuse("Commit")
	}
	return t.wrote(func() error { return t.tx.Commit(context.WithoutCancel(ctx)) })
}

// Rollback implements pgx.Tx: it goes back to the savepoint.
func (t *pgxTx) Rollback(ctx context.Context) error {
	if !t.nested {
		return t.n.Refuse("Rollback")
	}
	return t.run(func() error {
		err := t.tx.Rollback(context.WithoutCancel(ctx))
		if !errors.Is(err, pgx.ErrTxClosed) { // a deferred one, after Commit
			t.n.Ran(err)
		}
		return err
	})
}

// Exec implements pgx.Tx.
func (t *pgxTx) Exec(ctx context.Context, query string, args ...any) (tag pgconn.CommandTag, err error) {
	err = t.wrote(func() error {
		tag, err = t.tx.Exec(ctx, query, args...)
		return err
	}, query)
	return tag, err
}

// CopyFrom implements pgx.Tx. from must not use the transaction (headrace.ErrTxBusy).
func (t *pgxTx) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, from pgx.CopyFromSource) (n int64, err error) {
	source := newCopySource(from)
	err = t.wrote(func() error {
		n, err = t.tx.CopyFrom(ctx, table, columns, source)
		return err
	})
	source.end()
	return n, err
}

// Prepare implements pgx.Tx.
func (t *pgxTx) Prepare(ctx context.Context, name, query string) (sd *pgconn.StatementDescription, err error) {
	err = t.wrote(func() error {
		sd, err = t.tx.Prepare(ctx, name, query)
		return err
	}, query)
	return sd, err
}

// Query implements pgx.Tx.
func (t *pgxTx) Query(ctx context.Context, query string, args ...any) (pgx.Rows, error) {
	r := &pgxRows{h: t.handlerTx}
	err := t.wrote(func() (err error) {
		r.Rows, err = t.tx.Query(ctx, query, args...)
		return err
	}, query)
	if r.Rows == nil {
		r.Rows = failedRows(err)
		return r, err
	}
	t.n.Opened(r.end)
	return r, err
}

// QueryRow implements pgx.Tx.
func (t *pgxTx) QueryRow(ctx context.Context, query string, args ...any) pgx.Row {
	rows, _ := t.Query(ctx, query, args...)
	return pgxRow{rows}
}

// SendBatch implements pgx.Tx.
func (t *pgxTx) SendBatch(ctx context.Context, b *pgx.Batch) pgx.BatchResults {
	queries := make([]string, len(b.QueuedQueries))
	for i, q := range b.QueuedQueries {
		queries[i] = q.SQL
	}
	r := &pgxBatch{h: t.handlerTx}
	if err := t.wrote(func() error { r.BatchResults = t.tx.SendBatch(ctx, b); return nil }, queries...); err != nil {
		return pgx.FailedBatchResults(b, err)
	}
	t.n.Opened(r.end)
	return r
}

// LargeObjects implements pgx.Tx.
func (t *pgxTx) LargeObjects() pgx.LargeObjects {
	if err := t.n.OutOfSight(); err != nil {
		b := new(pgx.Batch)
		b.BeginTx(pgx.TxOptions{})
		return pgx.FailedBatchResults(b, err).Tx().LargeObjects() // of a closed transaction
	}
	t.conn.lent = true
	return t.tx.LargeObjects()
}

// Conn implements pgx.Tx.
func (t *pgxTx) Conn() *pgx.Conn {
	if t.n.OutOfSight() != nil {
		return nil
	}
	return t.tx.Conn()
}
