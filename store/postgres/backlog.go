package postgres

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/txn"
)

// backlogStore implements backlog.Store.
type backlogStore struct {
	db     *sql.DB
	plan   planner
	schema string
	floors *floors

	put, poll, promote, lockShard   string
	read, delete, reschedule, depth string
}

func newBacklog(db *sql.DB, plan planner, queries map[string]string, schema string) *backlogStore {
	return &backlogStore{
		db: db, plan: plan, schema: schema, floors: newFloors(),
		put:        sqlfile.Get(queries, "backlog_put"),
		poll:       sqlfile.Get(queries, "backlog_poll"),
		promote:    sqlfile.Get(queries, "backlog_promote"),
		lockShard:  sqlfile.Get(queries, "backlog_lock_shard"),
		read:       sqlfile.Get(queries, "backlog_read"),
		delete:     sqlfile.Get(queries, "backlog_delete"),
		reschedule: sqlfile.Get(queries, "backlog_reschedule"),
		depth:      sqlfile.Get(queries, "backlog_depth"),
	}
}

// Put implements backlog.Store.
func (s *backlogStore) Put(ctx context.Context, t *txn.Txn, items []backlog.Item) error {
	if len(items) == 0 {
		return nil
	}
	for i := range items {
		d := &items[i].Delivery
		if err := identity(items[i].Consumer, items[i].Handler, d.Scope, d.Key, d.OrderKey, d.Fingerprint); err != nil {
			return fmt.Errorf("put into backlog: %w", err)
		}
	}
	if _, err := t.ExecContext(ctx, s.put, putArgs(items)...); err != nil {
		return fmt.Errorf("put into backlog: %w", err)
	}
	return nil
}

func putArgs(items []backlog.Item) []any {
	type item = backlog.Item
	texts := func(field func(*item) string) any { return column(items, field) }
	numbers := func(field func(*item) int64) any { return column(items, field) }
	return []any{
		texts(func(i *item) string { return i.Consumer }),
		numbers(func(i *item) int64 { return int64(shard.Of(i.Delivery.OrderKey)) }),
		column(items, func(i *item) bool { return i.Blocked }),
		numbers(func(i *item) int64 { return micros(i.Delay) }),
		texts(func(i *item) string { return i.Handler }),
		texts(func(i *item) string { return i.Delivery.Scope }),
		texts(func(i *item) string { return i.Delivery.Key }),
		texts(func(i *item) string { return i.Delivery.OrderKey }),
		column(items, func(i *item) bool { return i.Strict }),
		texts(func(i *item) string { return i.Delivery.Fingerprint }),
		texts(func(i *item) string { return encode.Text(i.Delivery.ID, maxName) }),
		texts(func(i *item) string { return encode.Text(i.Delivery.Topic, maxName) }),
		column(items, func(i *item) []byte { return i.Delivery.Payload }),
		column(items, func(i *item) []byte { return encode.Metadata(i.Delivery.Metadata) }),
		texts(func(i *item) string { return coordinates(i.Delivery.Coordinates) }),
		texts(func(i *item) string { return encode.Text(i.Delivery.Trace.Parent, maxTrace) }),
		texts(func(i *item) string { return encode.Text(i.Delivery.Trace.State, maxTrace) }),
		numbers(func(i *item) int64 { return int64(i.Delivery.Attempt) }),
		numbers(func(i *item) int64 { return int64(i.Spent) }),
		numbers(func(i *item) int64 { return i.LetterID }),
		numbers(func(i *item) int64 { return int64(i.Redrives) }),
		texts(func(i *item) string { return encode.Text(i.Delivery.ReplyTopic, maxName) }),
	}
}

// Poll implements backlog.Store.
func (s *backlogStore) Poll(ctx context.Context, consumer string, marks []int64) (backlog.Poll, error) {
	if len(marks) != backlog.Shards {
		return backlog.Poll{}, fmt.Errorf("poll backlog: %d marks for %d shards", len(marks), backlog.Shards)
	}
	var shards []int64
	var next sql.NullInt64
	err := s.plan.on(s.db).QueryRowContext(ctx, s.poll, consumer, pq.Array(marks)).Scan(pq.Array(&shards), &next)
	if err != nil {
		return backlog.Poll{}, fmt.Errorf("poll backlog: %w", err)
	}
	p := backlog.Poll{Due: next.Valid && next.Int64 <= 0}
	for _, n := range shards {
		p.Shards = append(p.Shards, int(n))
	}
	if next.Valid && !p.Due {
		p.Next = fromMicros(next.Int64)
	}
	return p, nil
}

// Promote implements backlog.Store.
func (s *backlogStore) Promote(ctx context.Context, t *txn.Txn, consumer string, limit int) (int, error) {
	n, err := affected(s.plan.on(t.SQL()).ExecContext(ctx, s.promote, consumer, limit))
	if err != nil {
		return 0, fmt.Errorf("promote due rows: %w", err)
	}
	return n, nil
}

// LockShard implements backlog.Store.
func (s *backlogStore) LockShard(ctx context.Context, t *txn.Txn, consumer string, n int, idle time.Duration) (bool, error) {
	return lockShard(ctx, t, s.lockShard, shard.Lock("backlog", s.schema, consumer, strconv.Itoa(n)), idle)
}

// Read implements backlog.Store.
func (s *backlogStore) Read(ctx context.Context, t *txn.Txn, consumer string, shard int, after int64, limit int) ([]backlog.Item, error) {
	l := line{consumer, shard}
	var h horizon
	rows, err := collect(ctx, s.plan.on(t.SQL()), s.read, []any{consumer, shard, s.floors.from(l, after), limit}, func(r *itemRow) []any {
		return append(r.columns(), &h.xmin, &h.xmax)
	})
	if err != nil {
		return nil, fmt.Errorf("read backlog: %w", err)
	}
	if len(rows) > 0 {
		s.floors.learn(l, after, rows[0].RowID, h)
	}
	items, err := itemsOf(rows, consumer)
	if err != nil {
		return nil, fmt.Errorf("read backlog: %w", err)
	}
	return items, nil
}

// itemRow is an item as its row is read.
type itemRow struct {
	backlog.Item
	metadata    []byte
	coordinates string
}

// columns says where the columns of a row go.
func (r *itemRow) columns() []any {
	d := &r.Delivery
	return []any{&r.RowID, &r.Handler, &d.Scope, &d.Key, &d.OrderKey, &r.Strict, &d.Fingerprint, &d.ID, &d.Topic,
		&d.Payload, &r.metadata, &r.coordinates, &d.Trace.Parent, &d.Trace.State, &d.Attempt, &r.Spent, &r.LetterID, &r.Redrives,
		&d.ReplyTopic}
}

// itemsOf parses what rows hold.
func itemsOf(rows []itemRow, consumer string) ([]backlog.Item, error) {
	items := make([]backlog.Item, len(rows))
	for i, r := range rows {
		var err error
		r.Consumer = consumer
		if r.Delivery.Metadata, err = encode.ParseMetadata(r.metadata); err != nil {
			return nil, fmt.Errorf("row %d: %w", r.RowID, err)
		}
		if err := json.Unmarshal([]byte(r.coordinates), &r.Delivery.Coordinates); err != nil {
			return nil, fmt.Errorf("row %d: coordinates: %w", r.RowID, err)
		}
		items[i] = r.Item
	}
	return items, nil
}

// Delete implements backlog.Store.
func (s *backlogStore) Delete(ctx context.Context, t *txn.Txn, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := s.plan.on(t.SQL()).ExecContext(ctx, s.delete, pq.Array(rows)); err != nil {
		return fmt.Errorf("remove from the backlog: %w", err)
	}
	return nil
}

// Reschedule implements backlog.Store.
func (s *backlogStore) Reschedule(ctx context.Context, t *txn.Txn, row int64, delay time.Duration, attempt int) error {
	if _, err := s.plan.on(t.SQL()).ExecContext(ctx, s.reschedule, row, micros(delay), attempt); err != nil {
		return fmt.Errorf("reschedule: %w", err)
	}
	return nil
}

// Depth implements backlog.Store.
func (s *backlogStore) Depth(ctx context.Context, consumer string) (backlog.Depth, error) {
	var d backlog.Depth
	var oldest int64
	err := s.plan.on(s.db).QueryRowContext(ctx, s.depth, consumer).Scan(&d.Ready, &d.Delayed, &d.Blocked, &d.Leased, &oldest)
	if err != nil {
		return backlog.Depth{}, fmt.Errorf("backlog depth: %w", err)
	}
	d.Oldest = fromMicros(oldest)
	return d, nil
}
