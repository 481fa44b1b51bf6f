package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlstore"
	"github.com/headrace/headrace/outbox"
)

// outboxStore implements store.Outbox.
type outboxStore struct {
	*sqlstore.Outbox
	insert, insertDelayed, take string
}

// SingleWriter implements outbox.SingleWriter.
func (*outboxStore) SingleWriter() {}

// errNoTransaction prevents that each row is committed separately.
var errNoTransaction = errors.New("needs a transaction, not a pool or a connection")

// Insert implements outbox.Store, with a statement for each row: they run in this
// process, and no payload needs another encoding.
func (o *outboxStore) Insert(ctx context.Context, q headrace.Execer, rows []outbox.Row) (err error) {
	defer sqlrun.Wrap("insert events", &err)
	if len(rows) == 0 {
		return nil
	}
	switch q.(type) {
	case *sql.DB, *sql.Conn:
		return errNoTransaction
	}
	if _, err := q.ExecContext(ctx, o.take, "outbox", len(rows)); err != nil {
		return fmt.Errorf("take ids: %w", err)
	}
	for n, row := range rows {
		if err := o.insertOne(ctx, q, row, len(rows)-1-n); err != nil {
			return err
		}
	}
	return nil
}

// insertOne inserts a row with the id that is before less than the last one taken.
func (o *outboxStore) insertOne(ctx context.Context, q headrace.Execer, row outbox.Row, before int) error {
	e := row.Event
	if err := sqlrun.Identity(e.ID, e.Topic, e.OrderKey); err != nil { // never cleaned, since they are published as they are
		return fmt.Errorf("%w: ID, Topic or OrderKey: %w", headrace.ErrInvalidEvent, err)
	}
	args := []any{
		row.Shard, e.ID, e.Topic, e.OrderKey, e.Payload, encode.Metadata(e.Metadata),
		sqlrun.Trace(e.Trace.Parent), sqlrun.Trace(e.Trace.State), before, o.Name(), e.Local,
	}
	query := o.insert
	if e.Delay > 0 {
		query, args = o.insertDelayed, append(args, sqlrun.Micros(e.Delay))
	}
	_, err := q.ExecContext(ctx, query, args...)
	return err
}
