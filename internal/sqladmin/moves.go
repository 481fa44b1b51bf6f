package sqladmin

import (
	"context"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Moves implements backlog.Moves.
type Moves struct {
	sqlrun.Table[struct{ Find, Retry, Take string }]
}

func (s *Moves) Find(ctx context.Context, consumer string, keys []string) (rows []backlog.Row, err error) {
	defer sqlrun.Wrap("find messages in the backlog", &err)
	args := append([]any{encode.Text(consumer, 0)}, s.Many(clean(keys))...)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Find, args, func(r *backlog.Row) []any {
		return []any{&r.RowID, &r.Handler, &r.Delivery.Scope, &r.Delivery.Key, &r.Wait.Status}
	})
}

func (s *Moves) Retry(ctx context.Context, f backlog.Filter, keys []string) (n int, err error) {
	defer sqlrun.Wrap("retry messages of the backlog", &err)
	args := []any{encode.Text(f.Consumer, 0), encode.Text(f.Handler, 0), encode.Text(f.ErrorFingerprint, 0), backlog.MaxRetry}
	return s.Write(ctx, s.SQL.Retry, append(args, s.Many(clean(keys))...)...)
}

func (s *Moves) Take(ctx context.Context, t *txn.Txn, row int64) (bool, error) {
	n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Take, row))
	sqlrun.Wrap("take a message out of the backlog", &err)
	return n > 0, err
}

// clean returns keys as a column has them; no column has other text.
func clean(keys []string) []string {
	list := make([]string, len(keys))
	for i, key := range keys {
		list[i] = encode.Text(key, 0)
	}
	return list
}
