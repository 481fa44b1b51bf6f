package sqladmin

import (
	"context"
	"slices"
	"time"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Rehearsals implements store.Rehearsals.
type Rehearsals struct {
	sqlrun.Table[struct{ Written, Letters string }]
}

// Limits implements store.Limits.
type Limits struct {
	sqlrun.Table[struct{ Set string }]
}

func (s *Limits) Set(ctx context.Context, t *txn.Txn, lock time.Duration, limits txn.Limits) (err error) {
	defer sqlrun.Wrap("bound a transaction", &err)
	var set string
	return t.QueryRowContext(ctx, s.SQL.Set, sqlrun.Millis(lock), sqlrun.Millis(limits.Idle), sqlrun.Millis(limits.Statement)).Scan(&set)
}

func (s *Rehearsals) Written(ctx context.Context, t *txn.Txn) (n int64, err error) {
	defer sqlrun.Wrap("count the rows that a rehearsal writes", &err)
	err = t.QueryRowContext(ctx, s.SQL.Written).Scan(&n)
	return n, err
}

func (s *Rehearsals) Letters(ctx context.Context, f dlq.Filter, limit int) (ids []int64, err error) {
	defer sqlrun.Wrap("choose dead letters", &err)
	text := func(s string) string { return encode.Text(s, 0) } // no column has other text
	args := []any{text(f.Consumer), text(f.Handler), text(f.Topic), text(string(f.Class)), text(f.ErrorFingerprint), limit}
	ids, err = sqlrun.Collect(ctx, s.Reader(), s.SQL.Letters, args, func(id *int64) []any { return []any{id} })
	slices.Sort(ids)
	return ids, err
}
