package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/store/txn"
)

// backlogStore implements backlog.Store.
type backlogStore struct {
	s *Store

	put, poll, promote, read, delete, reschedule, depth, take string
}

var _ backlog.Store = (*backlogStore)(nil)

func newBacklog(s *Store, q queries) *backlogStore {
	return &backlogStore{
		s:          s,
		put:        q.get("backlog_put"),
		poll:       q.get("backlog_poll"),
		promote:    q.get("backlog_promote"),
		read:       q.get("backlog_read"),
		delete:     q.get("backlog_delete"),
		reschedule: q.get("backlog_reschedule"),
		depth:      q.get("backlog_depth"),
		take:       q.get("sequences_take"),
	}
}

// take takes n ids of a sequence and returns the one before the first of them.
func take(ctx context.Context, t *txn.Txn, query, sequence string, n int) (int64, error) {
	var last int64
	if err := t.QueryRowContext(ctx, query, sequence, n).Scan(&last); err != nil {
		return 0, fmt.Errorf("take ids: %w", err)
	}
	return last - int64(n), nil
}

// Put implements backlog.Store.
func (b *backlogStore) Put(ctx context.Context, t *txn.Txn, items []backlog.Item) error {
	if len(items) == 0 {
		return nil
	}
	before, err := take(ctx, t, b.take, "backlog", len(items))
	if err != nil {
		return fmt.Errorf("put: %w", err)
	}
	for n, i := range items {
		if err := b.putOne(ctx, t, before+int64(n)+1, i); err != nil {
			return fmt.Errorf("put: %w", err)
		}
	}
	return nil
}

func (b *backlogStore) putOne(ctx context.Context, t *txn.Txn, id int64, i backlog.Item) error {
	d := i.Delivery
	if err := identity(i.Consumer, i.Handler, d.Scope, d.Key, d.Fingerprint, d.OrderKey); err != nil {
		return err
	}
	coordinates, err := json.Marshal(d.Coordinates)
	if err != nil {
		return fmt.Errorf("encode coordinates: %w", err)
	}
	_, err = t.ExecContext(ctx, b.put, id, i.Consumer, shard.Of(d.OrderKey), i.Blocked, us(i.Delay), i.Handler,
		d.Scope, d.Key, d.OrderKey, i.Strict, d.Fingerprint,
		encode.Text(d.ID, maxName), encode.Text(d.Topic, maxName), blob(d.Payload), encode.Metadata(d.Metadata), string(coordinates),
		encode.Text(d.Trace.Parent, maxTrace), encode.Text(d.Trace.State, maxTrace), d.Attempt, i.Spent, i.LetterID, i.Redrives,
		encode.Text(d.ReplyTopic, maxName))
	return err
}

// Poll implements backlog.Store.
func (b *backlogStore) Poll(ctx context.Context, consumer string, marks []int64) (backlog.Poll, error) {
	var p backlog.Poll
	if err := checkMarks(marks, backlog.Shards); err != nil {
		return p, fmt.Errorf("poll backlog: %w", err)
	}
	var shards string
	var due *int64
	if err := b.s.read.QueryRowContext(ctx, b.poll, consumer, rowIDs(marks)).Scan(&shards, &due); err != nil {
		return p, fmt.Errorf("poll backlog: %w", err)
	}
	if err := json.Unmarshal([]byte(shards), &p.Shards); err != nil {
		return p, fmt.Errorf("poll backlog: %w", err)
	}
	if due != nil {
		p.Due = *due <= 0
		p.Next = time.Duration(max(*due, 0)) * time.Microsecond
	}
	return p, nil
}

// Promote implements backlog.Store.
func (b *backlogStore) Promote(ctx context.Context, t *txn.Txn, consumer string, limit int) (int, error) {
	if limit <= 0 {
		return 0, nil
	}
	// Ids that find no row leave a gap.
	before, err := take(ctx, t, b.take, "backlog", limit)
	if err != nil {
		return 0, fmt.Errorf("promote: %w", err)
	}
	result, err := t.ExecContext(ctx, b.promote, consumer, limit, before)
	if err != nil {
		return 0, fmt.Errorf("promote: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}

// LockShard implements backlog.Store: the transaction has the whole file.
func (b *backlogStore) LockShard(context.Context, *txn.Txn, string, int, time.Duration) (bool, error) {
	return true, nil
}

// Read implements backlog.Store.
func (b *backlogStore) Read(ctx context.Context, t *txn.Txn, consumer string, shard int, after int64, limit int) ([]backlog.Item, error) {
	items, err := collect(ctx, t, b.read, []any{consumer, shard, after, limit}, func(row scanner) (backlog.Item, error) {
		i, err := readItem(row)
		i.Consumer = consumer
		return i, err
	})
	if err != nil {
		return nil, fmt.Errorf("read backlog: %w", err)
	}
	return items, nil
}

func readItem(row scanner) (backlog.Item, error) { return readRow(row, false) }

// readLeased reads an item with what is known of its leases.
func readLeased(row scanner) (backlog.Item, error) { return readRow(row, true) }

func readRow(row scanner, leased bool) (backlog.Item, error) {
	var i backlog.Item
	d := &i.Delivery
	var metadata whole
	var coordinates []byte
	columns := []any{&i.RowID, &i.Handler, &d.Scope, &d.Key, &d.OrderKey, &i.Strict, &d.Fingerprint, &d.ID, &d.Topic,
		(*whole)(&d.Payload), &metadata, &coordinates, &d.Trace.Parent, &d.Trace.State, &d.Attempt, &i.Spent, &i.LetterID, &i.Redrives,
		&d.ReplyTopic}
	if leased {
		columns = append(columns, &i.Starts, &i.Lost)
	}
	err := row.Scan(columns...)
	if err != nil {
		return i, err
	}
	if d.Metadata, err = encode.ParseMetadata(metadata); err != nil {
		return i, err
	}
	return i, json.Unmarshal(coordinates, &d.Coordinates)
}

// Delete implements backlog.Store.
func (b *backlogStore) Delete(ctx context.Context, t *txn.Txn, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := t.ExecContext(ctx, b.delete, rowIDs(rows)); err != nil {
		return fmt.Errorf("remove from the backlog: %w", err)
	}
	return nil
}

// Reschedule implements backlog.Store.
func (b *backlogStore) Reschedule(ctx context.Context, t *txn.Txn, row int64, delay time.Duration, attempt int) error {
	if _, err := t.ExecContext(ctx, b.reschedule, row, us(delay), attempt); err != nil {
		return fmt.Errorf("reschedule: %w", err)
	}
	return nil
}

// Depth implements backlog.Store.
func (b *backlogStore) Depth(ctx context.Context, consumer string) (backlog.Depth, error) {
	var d backlog.Depth
	err := b.s.read.QueryRowContext(ctx, b.depth, consumer).Scan(&d.Ready, &d.Delayed, &d.Blocked, &d.Leased, (*span)(&d.Oldest))
	if err != nil {
		return d, fmt.Errorf("count the backlog: %w", err)
	}
	return d, nil
}
