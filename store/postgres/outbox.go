package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// outboxStore implements outbox.Store and outbox.Admin.
type outboxStore struct {
	db     *sql.DB
	plan   planner
	schema string
	floors *floors
	signal *outbox.Signal

	insert                  inserts
	poll, lockShard         string
	refusal                 string
	pollTopics              string
	readTopics, heldTopics  string
	read, readHeld, blocked string
	delete, hold            string
	status, parked, unpark  string
}

func newOutbox(db *sql.DB, plan planner, queries map[string]string, schema string, signal *outbox.Signal) *outboxStore {
	return &outboxStore{
		db: db, plan: plan, schema: schema, floors: newFloors(), signal: signal,
		insert:    inserts{ready: sqlfile.Get(queries, "outbox_insert"), delayed: sqlfile.Get(queries, "outbox_insert_delayed")},
		poll:      sqlfile.Get(queries, "outbox_poll"),
		lockShard: sqlfile.Get(queries, "outbox_lock_shard"),
		read:      sqlfile.Get(queries, "outbox_read"),
		readHeld:  sqlfile.Get(queries, "outbox_read_held"),

		refusal:    sqlfile.Get(queries, "outbox_not_subscribed"),
		pollTopics: sqlfile.Get(queries, "outbox_poll_topics"),
		readTopics: sqlfile.Get(queries, "outbox_read_topics"),
		heldTopics: sqlfile.Get(queries, "outbox_read_held_topics"),

		blocked: sqlfile.Get(queries, "outbox_blocked"),
		delete:  sqlfile.Get(queries, "outbox_delete"),
		hold:    sqlfile.Get(queries, "outbox_hold"),
		status:  sqlfile.Get(queries, "outbox_status"),
		parked:  sqlfile.Get(queries, "outbox_parked"),
		unpark:  sqlfile.Get(queries, "outbox_unpark"),
	}
}

// Poll implements outbox.Store.
func (s *outboxStore) Poll(ctx context.Context, marks []int64) (outbox.Poll, error) {
	if len(marks) != outbox.Shards {
		return outbox.Poll{}, fmt.Errorf("poll outbox: %d marks for %d shards", len(marks), outbox.Shards)
	}
	looks, err := collect(ctx, s.plan.on(s.db), s.poll, []any{pq.Array(marks)}, func(l *look) []any {
		return []any{&l.shard, &l.work, &l.later}
	})
	if err != nil {
		return outbox.Poll{}, fmt.Errorf("poll outbox: %w", err)
	}
	return pollOf(looks), nil
}

// look is what a poll says of a shard.
type look struct {
	shard int
	work  bool
	later sql.NullInt64
	top   int64
}

func pollOf(looks []look) (p outbox.Poll) {
	for _, l := range looks {
		if l.work {
			p.Shards = append(p.Shards, l.shard)
		}
		if !l.later.Valid {
			continue
		}
		// What became due while it was looked for is asked for again at once.
		if next := max(fromMicros(l.later.Int64), time.Microsecond); p.Next == 0 || next < p.Next {
			p.Next = next
		}
	}
	return p
}

// LockShard implements outbox.Store.
func (s *outboxStore) LockShard(ctx context.Context, t *txn.Txn, n int, idle time.Duration) (bool, error) {
	return lockShard(ctx, t, s.lockShard, shard.Lock("outbox", s.schema, strconv.Itoa(n)), idle)
}

// lockShard tries to take the lock of that number for t.
func lockShard(ctx context.Context, t *txn.Txn, query string, number int64, idle time.Duration) (bool, error) {
	var got bool
	var setting sql.NullString
	if err := t.QueryRowContext(ctx, query, number, millis(idle)).Scan(&got, &setting); err != nil {
		return false, fmt.Errorf("lock shard: %w", err)
	}
	return got, nil
}

// outboxRow is a row as the statements return it.
type outboxRow struct {
	outbox.HeldRow
	metadata   []byte
	age, dueIn int64
}

func (r *outboxRow) columns() []any {
	e := &r.Event
	return []any{&r.RowID, &e.ID, &e.Topic, &e.OrderKey, &e.Payload, &r.metadata, &e.Trace.Parent, &e.Trace.State, &r.age}
}

// decoded is r with what the columns encode.
func (r *outboxRow) decoded(shard int) (outbox.HeldRow, error) {
	metadata, err := encode.ParseMetadata(r.metadata)
	if err != nil {
		return outbox.HeldRow{}, fmt.Errorf("row %d: %w", r.RowID, err)
	}
	r.Shard, r.Event.Metadata = shard, metadata
	r.Age, r.DueIn = fromMicros(r.age), fromMicros(r.dueIn)
	return r.HeldRow, nil
}

// Read implements outbox.Store.
func (s *outboxStore) Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]outbox.Row, error) {
	return s.readRows(ctx, t, line{shard: shard}, after, limit, s.read)
}

// readRows reads rows of a line for a caller that has come to after; more are the
// query's arguments behind the shard, the place to begin at, and the limit.
func (s *outboxStore) readRows(ctx context.Context, t *txn.Txn, l line, after int64, limit int, query string, more ...any) ([]outbox.Row, error) {
	args := append([]any{l.shard, s.floors.from(l, after), limit}, more...)
	var h horizon
	read, err := collect(ctx, s.plan.on(t.SQL()), query, args, func(r *outboxRow) []any {
		return append(r.columns(), &h.xmin, &h.xmax)
	})
	if err != nil {
		return nil, fmt.Errorf("read outbox: %w", err)
	}
	if len(read) > 0 {
		s.floors.learn(l, after, read[0].RowID, h)
	}
	rows := make([]outbox.Row, len(read))
	for i := range read {
		row, err := read[i].decoded(l.shard)
		if err != nil {
			return nil, fmt.Errorf("read outbox: %w", err)
		}
		rows[i] = row.Row
	}
	return rows, nil
}

// ReadHeld implements outbox.Store.
func (s *outboxStore) ReadHeld(ctx context.Context, t *txn.Txn, shard int, limit int) ([]outbox.HeldRow, error) {
	return s.readHeldRows(ctx, t, shard, s.readHeld, shard, limit)
}

func (s *outboxStore) readHeldRows(ctx context.Context, t *txn.Txn, shard int, query string, args ...any) ([]outbox.HeldRow, error) {
	read, err := collect(ctx, s.plan.on(t.SQL()), query, args, func(r *outboxRow) []any {
		return append(r.columns(), &r.Attempts, &r.Reason, &r.dueIn, &r.Error)
	})
	if err != nil {
		return nil, fmt.Errorf("read held events: %w", err)
	}
	rows := make([]outbox.HeldRow, len(read))
	for i := range read {
		if rows[i], err = read[i].decoded(shard); err != nil {
			return nil, fmt.Errorf("read held events: %w", err)
		}
	}
	return rows, nil
}

// Blocked implements outbox.Store.
func (s *outboxStore) Blocked(ctx context.Context, t *txn.Txn, shard int) ([]outbox.Block, error) {
	orders, err := collect(ctx, s.plan.on(t.SQL()), s.blocked, []any{shard}, func(b *outbox.Block) []any { return []any{&b.Topic, &b.Key, &b.First} })
	if err != nil {
		return nil, fmt.Errorf("read blocked orders: %w", err)
	}
	return orders, nil
}

// Delete implements outbox.Store.
func (s *outboxStore) Delete(ctx context.Context, t *txn.Txn, shard int, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := s.plan.on(t.SQL()).ExecContext(ctx, s.delete, shard, pq.Array(rows)); err != nil {
		return fmt.Errorf("remove from the outbox: %w", err)
	}
	return nil
}

// Hold implements outbox.Store.
func (s *outboxStore) Hold(ctx context.Context, t *txn.Txn, holds []outbox.Hold) error {
	type hold = outbox.Hold
	if len(holds) == 0 {
		return nil
	}
	_, err := s.plan.on(t.SQL()).ExecContext(ctx, s.hold,
		column(holds, func(h *hold) int64 { return int64(h.Row.Shard) }),
		column(holds, func(h *hold) int64 { return h.Row.RowID }),
		column(holds, func(h *hold) string { return string(h.Reason) }),
		column(holds, func(h *hold) int64 { return micros(h.Delay) }),
		column(holds, func(h *hold) int64 { return int64(h.Attempts) }),
		column(holds, func(h *hold) string { return encode.Text(h.Error, maxError) }))
	if err != nil {
		return fmt.Errorf("hold events: %w", err)
	}
	return nil
}
