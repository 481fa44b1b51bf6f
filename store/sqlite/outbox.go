package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// outboxStore implements store.Outbox.
type outboxStore struct {
	s      *Store
	signal *outbox.Signal

	insert, insertDelayed, poll, read, readHeld, blocked string
	delete, deleteNext, deleteHeld                       string
	hold, holdChange, holdTake                           string
	pollTopics, readTopics, heldTopics                   string
	status, parked, unpark, take                         string
}

func newOutbox(s *Store, q queries) *outboxStore {
	return &outboxStore{
		s:             s,
		signal:        outbox.NewSignal(),
		insert:        q.get("outbox_insert"),
		insertDelayed: q.get("outbox_insert_delayed"),
		poll:          q.get("outbox_poll"),
		read:          q.get("outbox_read"),
		readHeld:      q.get("outbox_read_held"),
		pollTopics:    q.get("outbox_poll_topics"),
		readTopics:    q.get("outbox_read_topics"),
		heldTopics:    q.get("outbox_read_held_topics"),
		blocked:       q.get("outbox_blocked"),
		delete:        q.get("outbox_delete"),
		deleteNext:    q.get("outbox_delete_next"),
		deleteHeld:    q.get("outbox_delete_held"),
		hold:          q.get("outbox_hold"),
		holdChange:    q.get("outbox_hold_change"),
		holdTake:      q.get("outbox_hold_take"),
		status:        q.get("outbox_status"),
		parked:        q.get("outbox_parked"),
		unpark:        q.get("outbox_unpark"),
		take:          q.get("sequences_take"),
	}
}

// SingleWriter implements outbox.SingleWriter.
func (*outboxStore) SingleWriter() {}

// errNoTransaction refuses what would be committed row by row.
var errNoTransaction = errors.New("needs a transaction, not a pool or a connection")

// Insert implements outbox.Store, in a statement for each row: they run in this
// process, and a payload never has to be put into another form.
func (o *outboxStore) Insert(ctx context.Context, q headrace.Execer, rows []outbox.Row) error {
	if len(rows) == 0 {
		return nil
	}
	switch q.(type) {
	case *sql.DB, *sql.Conn:
		return fmt.Errorf("insert events: %w", errNoTransaction)
	}
	if _, err := q.ExecContext(ctx, o.take, "outbox", len(rows)); err != nil {
		return fmt.Errorf("insert events: take ids: %w", err)
	}
	for n, row := range rows {
		if err := o.insertOne(ctx, q, row, len(rows)-1-n); err != nil {
			return fmt.Errorf("insert events: %w", err)
		}
	}
	return nil
}

// insertOne inserts a row with the id that many before the last one taken.
func (o *outboxStore) insertOne(ctx context.Context, q headrace.Execer, row outbox.Row, before int) error {
	e := row.Event
	if err := identity(e.ID, e.Topic, e.OrderKey); err != nil { // published as they are: never cleaned
		return fmt.Errorf("%w: ID, Topic or OrderKey: %w", headrace.ErrInvalidEvent, err)
	}
	args := []any{row.Shard, e.ID, e.Topic, e.OrderKey, blob(e.Payload), encode.Metadata(e.Metadata),
		encode.Text(e.Trace.Parent, maxTrace), encode.Text(e.Trace.State, maxTrace), before}
	query := o.insert
	if e.Delay > 0 {
		query, args = o.insertDelayed, append(args, us(e.Delay))
	}
	_, err := q.ExecContext(ctx, query, args...)
	return err
}

// Poll implements outbox.Store.
func (o *outboxStore) Poll(ctx context.Context, marks []int64) (outbox.Poll, error) {
	var p outbox.Poll
	if err := checkMarks(marks, outbox.Shards); err != nil {
		return p, fmt.Errorf("poll outbox: %w", err)
	}
	_, err := collect(ctx, o.s.read, o.poll, []any{rowIDs(marks)}, func(row scanner) (struct{}, error) {
		return struct{}{}, scanLook(row, &p)
	})
	if err != nil {
		return outbox.Poll{}, fmt.Errorf("poll outbox: %w", err)
	}
	return p, nil
}

// scanLook adds what a poll says of a shard to p, and reads more columns.
func scanLook(row scanner, p *outbox.Poll, more ...any) error {
	var shard int
	var ready bool
	var next span
	if err := row.Scan(append([]any{&shard, &ready, &next}, more...)...); err != nil {
		return err
	}
	if ready {
		p.Shards = append(p.Shards, shard)
	}
	if wait := time.Duration(next); wait > 0 && (p.Next == 0 || wait < p.Next) {
		p.Next = wait
	}
	return nil
}

// LockShard implements outbox.Store: the transaction has the whole file.
func (o *outboxStore) LockShard(context.Context, *txn.Txn, int, time.Duration) (bool, error) {
	return true, nil
}

// Read implements outbox.Store.
func (o *outboxStore) Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]outbox.Row, error) {
	return readRows(ctx, t, shard, o.read, shard, after, limit)
}

func readRows(ctx context.Context, t *txn.Txn, shard int, query string, args ...any) ([]outbox.Row, error) {
	rows, err := collect(ctx, t, query, args, func(row scanner) (outbox.Row, error) {
		r := outbox.Row{Shard: shard}
		return r, scanRow(row, &r)
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	return rows, nil
}

// scanRow reads the columns of an event, its age, and more.
func scanRow(row scanner, r *outbox.Row, more ...any) error {
	e := &r.Event
	var metadata whole
	err := row.Scan(append([]any{&r.RowID, &e.ID, &e.Topic, &e.OrderKey, (*whole)(&e.Payload), &metadata,
		&e.Trace.Parent, &e.Trace.State, (*span)(&r.Age)}, more...)...)
	if err != nil {
		return err
	}
	e.Metadata, err = encode.ParseMetadata(metadata)
	return err
}

// Delete implements outbox.Store.
func (o *outboxStore) Delete(ctx context.Context, t *txn.Txn, shard int, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	ids := rowIDs(rows)
	result, err := t.ExecContext(ctx, o.delete, shard, ids)
	if err != nil {
		return fmt.Errorf("remove from the outbox: %w", err)
	}
	if n, err := result.RowsAffected(); err == nil && n == int64(len(rows)) {
		return nil // none of them was held
	}
	for _, query := range []string{o.deleteNext, o.deleteHeld} {
		if _, err := t.ExecContext(ctx, query, shard, ids); err != nil {
			return fmt.Errorf("remove from the outbox: %w", err)
		}
	}
	return nil
}
