package postgres

import (
	"context"
	"fmt"
	"slices"

	"github.com/lib/pq"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/txn"
)

// orderStore implements backlog.Order.
type orderStore struct {
	plan planner

	lock, waiting, release string
}

func newOrder(plan planner, queries map[string]string) *orderStore {
	return &orderStore{
		plan:    plan,
		lock:    sqlfile.Get(queries, "order_lock"),
		waiting: sqlfile.Get(queries, "order_waiting"),
		release: sqlfile.Get(queries, "order_release"),
	}
}

// Lock implements backlog.Order.
func (s *orderStore) Lock(ctx context.Context, t *txn.Txn, keys []backlog.OrderKey) error {
	if len(keys) == 0 {
		return nil
	}
	numbers := make([]int64, len(keys))
	for i, k := range keys {
		numbers[i] = k.Lock()
	}
	slices.Sort(numbers)
	if _, err := t.ExecContext(ctx, s.lock, pq.Array(slices.Compact(numbers))); err != nil {
		return fmt.Errorf("lock order keys: %w", err)
	}
	return nil
}

// Waiting implements backlog.Order.
func (s *orderStore) Waiting(ctx context.Context, t *txn.Txn, keys []backlog.OrderKey) ([]backlog.OrderKey, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	args := []any{
		column(keys, func(k *backlog.OrderKey) string { return k.Scope }),
		column(keys, func(k *backlog.OrderKey) string { return k.Key }),
	}
	waiting, err := collect(ctx, s.plan.on(t.SQL()), s.waiting, args, func(k *backlog.OrderKey) []any { return []any{&k.Scope, &k.Key} })
	if err != nil {
		return nil, fmt.Errorf("look for waiting messages: %w", err)
	}
	return waiting, nil
}

// Release implements backlog.Order.
func (s *orderStore) Release(ctx context.Context, t *txn.Txn, key backlog.OrderKey) error {
	if _, err := s.plan.on(t.SQL()).ExecContext(ctx, s.release, key.Scope, key.Key); err != nil {
		return fmt.Errorf("release the next message: %w", err)
	}
	return nil
}
