package sqladmin

import (
	"context"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Imports implements dlq.Imports.
type Imports struct {
	sqlrun.Table[struct{ AddAttempts string }]
}

func (s *Imports) AddAttempts(ctx context.Context, t *txn.Txn, attempts []inbox.Attempt) (err error) {
	defer sqlrun.Wrap("import attempts", &err)
	type attempt = inbox.Attempt
	for _, a := range attempts {
		if err := sqlrun.Identity(a.Scope, a.Key); err != nil {
			return err
		}
	}
	_, err = t.ExecContext(ctx, s.SQL.AddAttempts, s.Many(
		sqlrun.Texts(attempts, func(a *attempt) string { return a.Scope }),
		sqlrun.Texts(attempts, func(a *attempt) string { return a.Key }),
		sqlrun.Numbers(attempts, func(a *attempt) int64 { return int64(a.N) }),
		sqlrun.Named(attempts, func(a *attempt) string { return a.Class }),
		sqlrun.Texts(attempts, func(a *attempt) string { return encode.Text(a.Error, sqlrun.MaxError) }),
		sqlrun.Named(attempts, func(a *attempt) string { return a.ErrorType }),
		sqlrun.Numbers(attempts, func(a *attempt) int64 { return a.Duration.Microseconds() }),
		sqlrun.Named(attempts, func(a *attempt) string { return a.Host }),
		sqlrun.Named(attempts, func(a *attempt) string { return a.Build }),
		sqlrun.Texts(attempts, func(a *attempt) string { return sqlrun.Trace(a.Trace.Parent) }),
		sqlrun.Texts(attempts, func(a *attempt) string { return sqlrun.Trace(a.Trace.State) }),
		sqlrun.Numbers(attempts, func(a *attempt) int64 { return a.At.UnixMicro() }))...)
	return err
}
