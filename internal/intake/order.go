package intake

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/store/txn"
)

// Waiting takes the order keys for t, which may block, and returns which of them have
// rows in the backlog. Empty and repeated ones are passed over.
func Waiting(ctx context.Context, t *txn.Txn, order backlog.Order, keys []backlog.OrderKey) (map[backlog.OrderKey]bool, error) {
	waiting := make(map[backlog.OrderKey]bool, len(keys))
	var each []backlog.OrderKey
	for _, key := range keys {
		if _, seen := waiting[key]; key.Key != "" && !seen {
			waiting[key] = false
			each = append(each, key)
		}
	}
	if len(each) == 0 {
		return waiting, nil
	}
	if err := order.Lock(ctx, t, each); err != nil {
		return nil, fmt.Errorf("lock order: %w", err)
	}
	found, err := order.Waiting(ctx, t, each)
	if err != nil {
		return nil, fmt.Errorf("look for waiting: %w", err)
	}
	for _, key := range found {
		waiting[key] = true
	}
	return waiting, nil
}
