package sqlite

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/store/txn"
)

// orderStore implements backlog.Order.
type orderStore struct{ waiting, release, take string }

var _ backlog.Order = (*orderStore)(nil)

func newOrder(q queries) *orderStore {
	return &orderStore{waiting: q.get("order_waiting"), release: q.get("order_release"), take: q.get("sequences_take")}
}

// Lock implements backlog.Order: the transaction has the whole file, and what the
// one before committed is seen.
func (o *orderStore) Lock(context.Context, *txn.Txn, []backlog.OrderKey) error { return nil }

// Waiting implements backlog.Order.
func (o *orderStore) Waiting(ctx context.Context, t *txn.Txn, keys []backlog.OrderKey) ([]backlog.OrderKey, error) {
	if len(keys) == 0 {
		return nil, nil
	}
	pairs := make([][2]string, len(keys))
	for n, k := range keys {
		if err := identity(k.Scope, k.Key); err != nil {
			return nil, fmt.Errorf("look for waiting messages: %w", err)
		}
		pairs[n] = [2]string{k.Scope, k.Key}
	}
	all, err := list(pairs)
	if err != nil {
		return nil, err
	}
	waiting, err := collect(ctx, t, o.waiting, []any{all}, func(row scanner) (backlog.OrderKey, error) {
		var k backlog.OrderKey
		err := row.Scan(&k.Scope, &k.Key)
		return k, err
	})
	if err != nil {
		return nil, fmt.Errorf("look for waiting messages: %w", err)
	}
	return waiting, nil
}

// Release implements backlog.Order.
func (o *orderStore) Release(ctx context.Context, t *txn.Txn, key backlog.OrderKey) error {
	before, err := take(ctx, t, o.take, "backlog", 1)
	if err != nil {
		return fmt.Errorf("release: %w", err)
	}
	if _, err := t.ExecContext(ctx, o.release, key.Scope, key.Key, before+1); err != nil {
		return fmt.Errorf("release: %w", err)
	}
	return nil
}
