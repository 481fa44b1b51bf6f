package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lib/pq"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/txn"
)

// leaseStore implements backlog.Leases.
type leaseStore struct {
	db   *sql.DB
	plan planner

	divert, look, claim, extend, fence, giveBack, recall, lost string
}

func newLeases(db *sql.DB, plan planner, queries map[string]string) *leaseStore {
	return &leaseStore{
		db: db, plan: plan,
		divert:   sqlfile.Get(queries, "leases_divert"),
		look:     sqlfile.Get(queries, "leases_look"),
		claim:    sqlfile.Get(queries, "leases_claim"),
		extend:   sqlfile.Get(queries, "leases_extend"),
		fence:    sqlfile.Get(queries, "leases_fence"),
		giveBack: sqlfile.Get(queries, "leases_give_back"),
		recall:   sqlfile.Get(queries, "leases_recall"),
		lost:     sqlfile.Get(queries, "leases_lost"),
	}
}

// Divert implements backlog.Leases.
func (s *leaseStore) Divert(ctx context.Context, t *txn.Txn, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := s.plan.on(t.SQL()).ExecContext(ctx, s.divert, pq.Array(rows)); err != nil {
		return fmt.Errorf("divert to leased handlers: %w", err)
	}
	return nil
}

// Look implements backlog.Leases.
func (s *leaseStore) Look(ctx context.Context, consumer, handler string) (bool, time.Duration, error) {
	var found bool
	var next sql.NullInt64
	if err := s.plan.on(s.db).QueryRowContext(ctx, s.look, consumer, handler).Scan(&found, &next); err != nil {
		return false, 0, fmt.Errorf("look for rows to lease: %w", err)
	}
	if found || next.Valid && next.Int64 <= 0 {
		return true, 0, nil
	}
	return false, fromMicros(next.Int64), nil
}

// Claim implements backlog.Leases.
func (s *leaseStore) Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) ([]backlog.Item, error) {
	rows, err := collect(ctx, s.plan.on(t.SQL()), s.claim, []any{consumer, handler, token, micros(term), limit}, func(r *itemRow) []any {
		return append(r.columns(), &r.Starts, &r.Lost)
	})
	if err != nil {
		return nil, fmt.Errorf("claim leases: %w", err)
	}
	items, err := itemsOf(rows, consumer)
	if err != nil {
		return nil, fmt.Errorf("claim leases: %w", err)
	}
	slices.SortFunc(items, func(a, b backlog.Item) int { return cmp.Compare(a.RowID, b.RowID) })
	return items, nil
}

// leaseArgs are the columns of leases.
func leaseArgs(leases []backlog.Lease) []any {
	return []any{
		column(leases, func(l *backlog.Lease) string { return l.ID.Scope }),
		column(leases, func(l *backlog.Lease) string { return l.ID.Key }),
		column(leases, func(l *backlog.Lease) string { return l.Token }),
	}
}

// Extend implements backlog.Leases.
func (s *leaseStore) Extend(ctx context.Context, t *txn.Txn, leases []backlog.Lease, term time.Duration) (extended, locked []backlog.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil, nil
	}
	type row struct {
		backlog.Lease
		extended bool
	}
	rows, err := collect(ctx, s.plan.on(t.SQL()), s.extend, append(leaseArgs(leases), micros(term)), func(r *row) []any {
		return []any{&r.ID.Scope, &r.ID.Key, &r.Token, &r.extended}
	})
	if err != nil {
		return nil, nil, fmt.Errorf("extend leases: %w", err)
	}
	for _, r := range rows {
		if r.extended {
			extended = append(extended, r.Lease)
		} else {
			locked = append(locked, r.Lease)
		}
	}
	return extended, locked, nil
}

// Fence implements backlog.Leases.
func (s *leaseStore) Fence(ctx context.Context, t *txn.Txn, l backlog.Lease, idle time.Duration) (bool, error) {
	var set sql.NullString
	err := t.QueryRowContext(ctx, s.fence, l.ID.Scope, l.ID.Key, l.Token, millis(idle)).Scan(&set)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("fence: %w", err)
	}
	return true, nil
}

// GiveBack implements backlog.Leases.
func (s *leaseStore) GiveBack(ctx context.Context, t *txn.Txn, leases []backlog.Lease) error {
	if len(leases) == 0 {
		return nil
	}
	if _, err := s.plan.on(t.SQL()).ExecContext(ctx, s.giveBack, leaseArgs(leases)...); err != nil {
		return fmt.Errorf("give leases back: %w", err)
	}
	return nil
}

// Lost implements backlog.Leases.
func (s *leaseStore) Lost(ctx context.Context, t *txn.Txn, id inbox.ID, spent int) (n int, err error) {
	if err := t.QueryRowContext(ctx, s.lost, id.Scope, id.Key, spent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count lost leases: %w", err)
	}
	return n, nil
}

// Recall implements backlog.Leases.
func (s *leaseStore) Recall(ctx context.Context, t *txn.Txn, consumer, handler string, limit int) (int, error) {
	n, err := affected(s.plan.on(t.SQL()).ExecContext(ctx, s.recall, consumer, handler, limit))
	if err != nil {
		return 0, fmt.Errorf("recall rows: %w", err)
	}
	return n, nil
}

var _ backlog.Leases = (*leaseStore)(nil)
