package sqlstore

import (
	"context"
	"database/sql"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/txn"
)

// Outbox implements outbox.Store except Insert, and outbox.Admin, for one outbox or line.
type Outbox struct {
	sqlrun.Table[struct {
		Poll, Read, ReadHeld, Blocked, Delete, Hold, List, Topics, Parked, Unpark string

		LockShard, DeleteNext, DeleteHeld, HoldChange, HoldTake string `sql:"optional"`
	}]
	name   string
	schema string
	floors Floors
	signal *outbox.Signal
	lines  *lines
}

// lines are the lines of a database that were asked for, by name. The signal of the
// store's outbox wakes all.
type lines struct {
	signal *outbox.Signal
	make   func(name string, signal *outbox.Signal) store.Outbox

	mu     sync.Mutex
	byName map[string]store.Outbox
}

// of returns the line called name.
func (l *lines) of(name string) store.Outbox {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.byName[name] == nil {
		l.byName[name] = l.make(name, l.signal.Line())
	}
	return l.byName[name]
}

func (s *Outbox) Poll(ctx context.Context, marks []int64) (p outbox.Poll, err error) {
	defer sqlrun.Wrap("poll the outbox", &err)
	if err := checkMarks(marks, outbox.Shards); err != nil {
		return p, err
	}
	type look struct {
		shard int
		work  bool
		later sql.NullInt64
	}
	looks, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Poll, append(s.Many(marks), s.name), func(l *look) []any {
		return []any{&l.shard, &l.work, &l.later}
	})
	if err != nil {
		return p, err
	}
	for _, l := range looks {
		if l.work {
			p.Shards = append(p.Shards, l.shard)
		}
		if !l.later.Valid {
			continue
		}
		// Poll at once again for rows that became due during the query.
		if next := max(time.Duration(l.later.Int64)*time.Microsecond, time.Microsecond); p.Next == 0 || next < p.Next {
			p.Next = next
		}
	}
	slices.Sort(p.Shards)
	p.Shards = slices.Compact(p.Shards) // a shard may have both ready rows and held ones
	return p, nil
}

func (s *Outbox) LockShard(ctx context.Context, t *txn.Txn, n int, idle time.Duration) (bool, error) {
	return lock(ctx, t, s.SQL.LockShard, txn.Limits{Idle: idle}, "outbox", s.schema, s.name, strconv.Itoa(n))
}

// eventFields returns the destinations of an event's columns.
func eventFields(r *outbox.Row) []any {
	e := &r.Event
	return []any{
		&r.RowID, &e.ID, &e.Topic, &e.OrderKey, (*sqlrun.Blob)(&e.Payload), (*sqlrun.Headers)(&e.Metadata), &e.Trace.Parent, &e.Trace.State,
	}
}

func (s *Outbox) Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) (rows []outbox.Row, err error) {
	defer sqlrun.Wrap("read the outbox", &err)
	l := Line{Shard: shard}
	var h Horizon
	rows, err = sqlrun.Collect(ctx, t, s.SQL.Read, []any{shard, s.floors.From(l, after), limit, s.name}, func(r *outbox.Row) []any {
		r.Shard = shard
		return append(eventFields(r), (*sqlrun.Instant)(&r.Created), &h.Xmin, &h.Xmax)
	})
	if err == nil && len(rows) > 0 {
		s.floors.Learn(l, after, sqlrun.Column(rows, func(r *outbox.Row) int64 { return r.RowID }), h)
	}
	return rows, err
}

func (s *Outbox) ReadHeld(ctx context.Context, t *txn.Txn, shard int, limit int) (rows []outbox.HeldRow, err error) {
	defer sqlrun.Wrap("read held events", &err)
	return sqlrun.Collect(ctx, t, s.SQL.ReadHeld, []any{shard, limit, s.name}, func(h *outbox.HeldRow) []any {
		h.Shard = shard
		return append(eventFields(&h.Row), (*sqlrun.Instant)(&h.Created), &h.Attempts, &h.Reason, (*sqlrun.Span)(&h.DueIn), &h.Error)
	})
}

func (s *Outbox) Blocked(ctx context.Context, t *txn.Txn, shard int) (orders []outbox.Block, err error) {
	defer sqlrun.Wrap("read blocked orders", &err)
	return sqlrun.Collect(ctx, t, s.SQL.Blocked, []any{shard, s.name}, func(b *outbox.Block) []any {
		return []any{&b.Topic, &b.Key, &b.First}
	})
}

func (s *Outbox) Delete(ctx context.Context, t *txn.Txn, shard int, rows []int64) (err error) {
	defer sqlrun.Wrap("remove from the outbox", &err)
	if len(rows) == 0 {
		return nil
	}
	args := slices.Concat([]any{shard}, s.Many(slices.Sorted(slices.Values(rows))), []any{s.name})
	n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Delete, args...))
	if err == nil && n < len(rows) { // some of them were held
		err = sqlrun.Steps(ctx, t, args, s.SQL.DeleteNext, s.SQL.DeleteHeld)
	}
	return err
}

func (s *Outbox) Hold(ctx context.Context, t *txn.Txn, holds []outbox.Hold) (err error) {
	defer sqlrun.Wrap("hold events", &err)
	type hold = outbox.Hold
	if len(holds) == 0 {
		return nil
	}
	return sqlrun.Steps(ctx, t, append(s.Many(
		sqlrun.Numbers(holds, func(h *hold) int64 { return int64(h.Row.Shard) }),
		sqlrun.Numbers(holds, func(h *hold) int64 { return h.Row.RowID }),
		sqlrun.Texts(holds, func(h *hold) string { return string(h.Reason) }),
		sqlrun.Numbers(holds, func(h *hold) int64 { return sqlrun.Micros(h.Delay) }),
		sqlrun.Numbers(holds, func(h *hold) int64 { return int64(h.Attempts) }),
		sqlrun.Texts(holds, func(h *hold) string { return encode.Text(h.Error, sqlrun.MaxError) })), s.name),
		s.SQL.HoldChange, s.SQL.Hold, s.SQL.HoldTake)
}

func (s *Outbox) Status(ctx context.Context) (outbox.Status, error) {
	list, err := s.List(ctx, s.name)
	if err != nil || len(list) == 0 {
		return outbox.Status{Outbox: s.name}, err
	}
	return list[0], nil
}

func (s *Outbox) List(ctx context.Context, name string) (list []outbox.Status, err error) {
	defer sqlrun.Wrap("count the outbox", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{name, sqlrun.Micros(instance.Missed), outbox.MaxRows}, func(st *outbox.Status) []any {
		return []any{
			&st.Outbox, &st.Ready, &st.Delayed, &st.Parked, &st.Behind, (*sqlrun.Span)(&st.Oldest), &st.Relays, &st.Waiting, &st.Sink,
		}
	})
}

func (s *Outbox) Topics(ctx context.Context, name string) (list []outbox.TopicStatus, err error) {
	defer sqlrun.Wrap("count the outbox by topic", &err)
	args := []any{name, outbox.MaxTopicRows, sqlrun.Micros(instance.Missed)}
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Topics, args, func(st *outbox.TopicStatus) []any {
		return []any{&st.Topic, &st.Events, (*sqlrun.Span)(&st.Oldest), &st.Published}
	})
}

func (s *Outbox) Parked(ctx context.Context, name string, after int64, limit int) (rows []outbox.HeldRow, err error) {
	defer sqlrun.Wrap("read parked events", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Parked, []any{after, limit, name}, func(h *outbox.HeldRow) []any {
		h.Reason = outbox.Parked
		return append(eventFields(&h.Row), (*sqlrun.Span)(&h.Age), &h.Attempts, &h.Error, &h.Shard, &h.Outbox)
	})
}

func (s *Outbox) Unpark(ctx context.Context, name string, rows []int64) (n int, err error) {
	defer sqlrun.Wrap("unpark events", &err)
	n, err = s.Write(ctx, s.SQL.Unpark, append(s.Many(append([]int64{}, rows...)), name)...)
	if n > 0 && err == nil {
		s.signal.Wake()
	}
	return n, err
}

// Line implements store.Outbox.
func (s *Outbox) Line(name string) store.Outbox {
	return s.lines.of(name)
}

func (s *Outbox) Name() string { return s.name }

func (s *Outbox) Signal() *outbox.Signal { return s.signal }
