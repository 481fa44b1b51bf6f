package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/lib/pq"

	"github.com/headrace/headrace/outbox"
)

// Status implements outbox.Admin.
func (s *outboxStore) Status(ctx context.Context) (outbox.Status, error) {
	var st outbox.Status
	var oldest int64
	err := s.plan.on(s.db).QueryRowContext(ctx, s.status).Scan(&st.Ready, &st.Delayed, &st.Parked, &st.Behind, &oldest)
	if err != nil {
		return outbox.Status{}, fmt.Errorf("outbox status: %w", err)
	}
	st.Oldest = fromMicros(oldest)
	return st, nil
}

// Parked implements outbox.Admin.
func (s *outboxStore) Parked(ctx context.Context, after int64, limit int) ([]outbox.HeldRow, error) {
	read, err := collect(ctx, s.plan.on(s.db), s.parked, []any{after, limit}, func(r *outboxRow) []any {
		return append(r.columns(), &r.Attempts, &r.Error, &r.Shard)
	})
	if err != nil {
		return nil, fmt.Errorf("read parked events: %w", err)
	}
	rows := make([]outbox.HeldRow, len(read))
	for i := range read {
		if rows[i], err = read[i].decoded(read[i].Shard); err != nil {
			return nil, fmt.Errorf("read parked events: %w", err)
		}
		rows[i].Reason, rows[i].Event.Payload = outbox.Parked, nil
	}
	return rows, nil
}

// Unpark implements outbox.Admin.
func (s *outboxStore) Unpark(ctx context.Context, rows []int64) (int, error) {
	if rows == nil {
		rows = []int64{}
	}
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		return 0, fmt.Errorf("unpark events: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	n, err := affected(s.plan.on(tx).ExecContext(ctx, s.unpark, pq.Array(rows)))
	if err != nil {
		return 0, fmt.Errorf("unpark events: %w", err)
	}
	if err := tx.Commit(); err != nil {
		return 0, fmt.Errorf("unpark events: commit: %w", err)
	}
	if n > 0 {
		s.signal.Wake()
	}
	return n, nil
}

// Signal implements outbox.Admin.
func (s *outboxStore) Signal() *outbox.Signal { return s.signal }
