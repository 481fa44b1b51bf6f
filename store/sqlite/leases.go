package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/store/txn"
)

// leaseStore implements backlog.Leases.
type leaseStore struct {
	s *Store

	divert, look, claim, claimEnded, extend, fence, giveBack, recall, lost, take string
}

var _ backlog.Leases = (*leaseStore)(nil)

func newLeases(s *Store, q queries) *leaseStore {
	return &leaseStore{
		s:          s,
		divert:     q.get("leases_divert"),
		look:       q.get("leases_look"),
		claim:      q.get("leases_claim"),
		claimEnded: q.get("leases_claim_ended"),
		extend:     q.get("leases_extend"),
		fence:      q.get("leases_fence"),
		giveBack:   q.get("leases_give_back"),
		recall:     q.get("leases_recall"),
		lost:       q.get("leases_lost"),
		take:       q.get("sequences_take"),
	}
}

// Divert implements backlog.Leases.
func (l *leaseStore) Divert(ctx context.Context, t *txn.Txn, rows []int64) error {
	if len(rows) == 0 {
		return nil
	}
	if _, err := t.ExecContext(ctx, l.divert, rowIDs(rows)); err != nil {
		return fmt.Errorf("divert to leased handlers: %w", err)
	}
	return nil
}

// Look implements backlog.Leases. It reads beside whoever writes.
func (l *leaseStore) Look(ctx context.Context, consumer, handler string) (bool, time.Duration, error) {
	var found bool
	var next *int64
	if err := l.s.read.QueryRowContext(ctx, l.look, consumer, handler).Scan(&found, &next); err != nil {
		return false, 0, fmt.Errorf("look for rows to lease: %w", err)
	}
	if found || next == nil {
		return found, 0, nil
	}
	return *next <= 0, time.Duration(max(*next, 0)) * time.Microsecond, nil
}

// Claim implements backlog.Leases.
func (l *leaseStore) Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) ([]backlog.Item, error) {
	var items []backlog.Item
	for _, query := range []string{l.claimEnded, l.claim} {
		if limit <= len(items) {
			break
		}
		some, err := collect(ctx, t, query, []any{consumer, handler, token, us(term), limit - len(items)}, readLeased)
		if err != nil {
			return nil, fmt.Errorf("claim leases: %w", err)
		}
		items = append(items, some...)
	}
	for i := range items {
		items[i].Consumer = consumer
	}
	slices.SortFunc(items, func(a, b backlog.Item) int { return cmp.Compare(a.RowID, b.RowID) })
	return items, nil
}

// leaseList is the argument for many leases.
func leaseList(leases []backlog.Lease) (string, error) {
	triples := make([][3]string, len(leases))
	for n, l := range leases {
		if err := identity(l.ID.Scope, l.ID.Key, l.Token); err != nil {
			return "", err
		}
		triples[n] = [3]string{l.ID.Scope, l.ID.Key, l.Token}
	}
	return list(triples)
}

// Extend implements backlog.Leases. No row is ever locked.
func (l *leaseStore) Extend(ctx context.Context, t *txn.Txn, leases []backlog.Lease, term time.Duration) (extended, locked []backlog.Lease, err error) {
	if len(leases) == 0 {
		return nil, nil, nil
	}
	all, err := leaseList(leases)
	if err != nil {
		return nil, nil, fmt.Errorf("extend leases: %w", err)
	}
	extended, err = collect(ctx, t, l.extend, []any{all, us(term)}, func(row scanner) (backlog.Lease, error) {
		var lease backlog.Lease
		return lease, row.Scan(&lease.ID.Scope, &lease.ID.Key, &lease.Token)
	})
	if err != nil {
		return nil, nil, fmt.Errorf("extend leases: %w", err)
	}
	return extended, nil, nil
}

// Fence implements backlog.Leases.
func (l *leaseStore) Fence(ctx context.Context, t *txn.Txn, lease backlog.Lease, _ time.Duration) (bool, error) {
	var one int
	err := t.QueryRowContext(ctx, l.fence, lease.ID.Scope, lease.ID.Key, lease.Token).Scan(&one)
	switch {
	case errors.Is(err, sql.ErrNoRows):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("fence: %w", err)
	}
	return true, nil
}

// GiveBack implements backlog.Leases.
func (l *leaseStore) GiveBack(ctx context.Context, t *txn.Txn, leases []backlog.Lease) error {
	if len(leases) == 0 {
		return nil
	}
	all, err := leaseList(leases)
	if err != nil {
		return fmt.Errorf("give leases back: %w", err)
	}
	if _, err := t.ExecContext(ctx, l.giveBack, all); err != nil {
		return fmt.Errorf("give leases back: %w", err)
	}
	return nil
}

// Lost implements backlog.Leases.
func (l *leaseStore) Lost(ctx context.Context, t *txn.Txn, id inbox.ID, spent int) (n int, err error) {
	if err := t.QueryRowContext(ctx, l.lost, id.Scope, id.Key, spent).Scan(&n); err != nil {
		return 0, fmt.Errorf("count lost leases: %w", err)
	}
	return n, nil
}

// Recall implements backlog.Leases.
func (l *leaseStore) Recall(ctx context.Context, t *txn.Txn, consumer, handler string, limit int) (int, error) {
	if limit <= 0 {
		return 0, nil
	}
	before, err := take(ctx, t, l.take, "backlog", limit)
	if err != nil {
		return 0, fmt.Errorf("recall rows: %w", err)
	}
	result, err := t.ExecContext(ctx, l.recall, consumer, handler, limit, before)
	if err != nil {
		return 0, fmt.Errorf("recall rows: %w", err)
	}
	n, err := result.RowsAffected()
	return int(n), err
}
