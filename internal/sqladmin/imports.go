package sqladmin

import (
	"context"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Imports implements dlq.Imports.
type Imports struct {
	sqlrun.Table[struct{ AddAttempts string }]
}

func (s *Imports) AddAttempts(ctx context.Context, t *txn.Txn, attempts []inbox.Attempt) (err error) {
	defer sqlrun.Wrap("import attempts", &err)
	for _, a := range attempts {
		if err := sqlrun.Identity(a.Scope, a.Key); err != nil {
			return err
		}
	}
	columns := append(sqlrun.Attempts(attempts),
		sqlrun.Numbers(attempts, func(a *inbox.Attempt) int64 { return a.At.UnixMicro() }),
		sqlrun.Numbers(attempts, func(a *inbox.Attempt) int64 { return int64(a.N) }))
	_, err = t.ExecContext(ctx, s.SQL.AddAttempts, s.Many(columns...)...)
	return err
}
