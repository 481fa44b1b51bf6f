package sqlstore

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Backlog implements backlog.Store.
type Backlog struct {
	sqlrun.Table[struct {
		Put, Poll, Promote, Read, Delete, Reschedule, Depth, Depths string

		LockShard string `sql:"optional"`
	}]
	schema string
	floors Floors
}

func (s *Backlog) Put(ctx context.Context, t *txn.Txn, items []backlog.Item) (err error) {
	defer sqlrun.Wrap("put into the backlog", &err)
	if len(items) == 0 {
		return nil
	}
	for i := range items {
		d := &items[i].Delivery
		if err := sqlrun.Identity(items[i].Consumer, items[i].Handler, d.Scope, d.Key, d.OrderKey, d.Fingerprint, items[i].ErrorFingerprint); err != nil {
			return err
		}
	}
	if err := s.Draw(ctx, t, "backlog", len(items)); err != nil {
		return err
	}
	for _, args := range s.Each(itemColumns(items)...) {
		if _, err := t.ExecContext(ctx, s.SQL.Put, args...); err != nil {
			return err
		}
	}
	return nil
}

func (s *Backlog) Poll(ctx context.Context, consumer string, marks []int64) (p backlog.Poll, err error) {
	defer sqlrun.Wrap("poll the backlog", &err)
	if err := checkMarks(marks, backlog.Shards); err != nil {
		return p, err
	}
	var next sql.NullInt64
	args := append([]any{consumer}, s.Many(marks)...)
	if err := s.Reader().QueryRowContext(ctx, s.SQL.Poll, args...).Scan(sqlrun.JSON(&p.Shards), &next); err != nil {
		return backlog.Poll{}, err
	}
	p.Due = next.Valid && next.Int64 <= 0
	p.Next = time.Duration(max(next.Int64, 0)) * time.Microsecond
	return p, nil
}

// checkMarks returns an error unless there is one mark for each shard.
func checkMarks(marks []int64, shards int) error {
	if len(marks) != shards {
		return fmt.Errorf("%d marks for %d shards", len(marks), shards)
	}
	return nil
}

func (s *Backlog) Promote(ctx context.Context, t *txn.Txn, consumer string, limit int) (n int, err error) {
	defer sqlrun.Wrap("promote due rows", &err)
	return makeReady(ctx, s, t, limit, s.SQL.Promote, consumer, limit)
}

func (s *Backlog) LockShard(ctx context.Context, t *txn.Txn, consumer string, n int, limits txn.Limits) (bool, error) {
	return lock(ctx, t, s.SQL.LockShard, limits, "backlog", s.schema, consumer, strconv.Itoa(n))
}

func (s *Backlog) Read(ctx context.Context, t *txn.Txn, r backlog.ReadRequest) (items []backlog.Item, err error) {
	defer sqlrun.Wrap("read the backlog", &err)
	l := Line{r.Consumer, r.Shard}
	args := append([]any{r.Consumer, r.Shard, s.floors.From(l, r.After), r.Limit, r.Bytes}, s.Many(append([]string{}, r.Handlers...))...)
	if r.Rows == nil {
		args = append(args, nil)
	} else {
		args = append(args, s.Many(r.Rows)...)
	}
	var h Horizon
	items, err = sqlrun.Collect(ctx, t, s.SQL.Read, args, func(i *backlog.Item) []any {
		i.Consumer = r.Consumer
		return append(itemFields(i), &i.Starts, &i.Behind, &i.Followed, &h.Xmin, &h.Xmax)
	})
	if err != nil {
		return nil, err
	}
	if len(items) > 0 && r.Rows == nil {
		s.floors.Learn(l, r.After, sqlrun.Column(items, func(i *backlog.Item) int64 { return i.Place }), h)
	}
	markBehind(items)
	return items, nil
}

// markBehind marks rows that come after a row of their strict order key which is behind
// another. That earlier row is ready in the statement's snapshot, but it does not run.
func markBehind(items []backlog.Item) {
	first := make(map[backlog.OrderKey]int64) // the first row of a key that is behind
	for i := range items {
		if key, _ := items[i].OrderKey(); items[i].Behind && (first[key] == 0 || items[i].RowID < first[key]) {
			first[key] = items[i].RowID
		}
	}
	for i := range items {
		if key, strict := items[i].OrderKey(); strict && first[key] != 0 && items[i].RowID > first[key] {
			items[i].Behind = true
		}
	}
}

func (s *Backlog) Delete(ctx context.Context, t *txn.Txn, rows []int64) (err error) {
	defer sqlrun.Wrap("remove from the backlog", &err)
	if len(rows) == 0 {
		return nil
	}
	_, err = t.ExecContext(ctx, s.SQL.Delete, s.Many(rows)...)
	return err
}

func (s *Backlog) Reschedule(ctx context.Context, t *txn.Txn, changes []backlog.Change) (err error) {
	defer sqlrun.Wrap("reschedule", &err)
	type change = backlog.Change
	_, err = makeReady(ctx, s, t, len(changes), s.SQL.Reschedule, s.Many(
		sqlrun.Numbers(changes, func(c *change) int64 { return c.RowID }),
		sqlrun.Numbers(changes, func(c *change) int64 { return sqlrun.Micros(c.Delay) }),
		sqlrun.Numbers(changes, func(c *change) int64 { return int64(c.Attempt) }),
		sqlrun.Numbers(changes, func(c *change) int64 { return int64(c.Reruns) }),
		sqlrun.Column(changes, func(c *change) bool { return c.Postponed }),
		sqlrun.Texts(changes, func(c *change) string { return encode.Text(c.Reason, sqlrun.MaxError) }),
		sqlrun.Texts(changes, func(c *change) string { return c.ErrorFingerprint }))...)
	return err
}

func (s *Backlog) Depth(ctx context.Context, consumer string) (d backlog.Depth, err error) {
	defer sqlrun.Wrap("count the backlog", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Depth, consumer, backlog.MaxDepth).Scan(depth(&d)...)
	return d, err
}

func (s *Backlog) Depths(ctx context.Context) (_ []backlog.HandlerDepth, err error) {
	defer sqlrun.Wrap("count the backlogs", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Depths, []any{backlog.MaxOldest}, func(h *backlog.HandlerDepth) []any {
		return append([]any{&h.Consumer, &h.Handler}, depth(&h.Depth)...)
	})
}

func depth(d *backlog.Depth) []any {
	return []any{&d.Ready, &d.Delayed, &d.Postponed, &d.Blocked, &d.Leased, (*sqlrun.Span)(&d.Oldest)}
}

// lock tries to take the lock of a shard for t, named by its table, the schema and more.
// There is no statement if a transaction has the whole database.
func lock(ctx context.Context, t *txn.Txn, query string, limits txn.Limits, names ...string) (got bool, err error) {
	defer sqlrun.Wrap("lock the shard", &err)
	if query == "" {
		return true, nil
	}
	var settings sql.NullString
	err = t.QueryRowContext(ctx, query, shard.Lock(names...), sqlrun.Millis(limits.Idle), sqlrun.Millis(limits.Statement)).Scan(&got, &settings)
	return got, err
}
