package sqlstore

import (
	"context"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Order implements backlog.Order.
type Order struct {
	sqlrun.Table[struct{ Block, Release, Sweep string }]
}

func (s *Order) Block(ctx context.Context, t *txn.Txn, rows []int64) (blocked []int64, err error) {
	defer sqlrun.Wrap("block rows", &err)
	if len(rows) == 0 {
		return nil, nil
	}
	return sqlrun.Collect(ctx, t, s.SQL.Block, s.Many(rows), func(id *int64) []any { return []any{id} })
}

func (s *Order) Release(ctx context.Context, t *txn.Txn, keys []backlog.OrderKey, limit int) (err error) {
	defer sqlrun.Wrap("release rows", &err)
	for _, k := range keys {
		if err := sqlrun.Identity(k.Scope, k.Key); err != nil {
			return err
		}
	}
	args := append(s.Many(
		sqlrun.Texts(keys, func(k *backlog.OrderKey) string { return k.Scope }),
		sqlrun.Texts(keys, func(k *backlog.OrderKey) string { return k.Key })), limit)
	_, err = makeReady(ctx, s, t, limit*len(keys), s.SQL.Release, args...)
	return err
}

func (s *Order) Sweep(ctx context.Context, t *txn.Txn, consumer string, limit int) (n int, err error) {
	defer sqlrun.Wrap("sweep blocked rows", &err)
	return makeReady(ctx, s, t, limit, s.SQL.Sweep, consumer, limit)
}

// makeReady runs a statement that makes at most n rows ready, at places from the backlog's
// sequence, and returns how many.
func makeReady(ctx context.Context, d sqlrun.Driver, t *txn.Txn, n int, query string, args ...any) (int, error) {
	if n <= 0 {
		return 0, nil
	}
	if err := d.Draw(ctx, t, "backlog", n); err != nil {
		return 0, err
	}
	return sqlrun.Affected(t.ExecContext(ctx, query, args...))
}
