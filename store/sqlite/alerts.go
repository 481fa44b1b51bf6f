package sqlite

import (
	"context"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlops"
	"github.com/headrace/headrace/internal/sqlrun"
)

// newFold returns the function that counts alerts.
func newFold(statements sqlfile.Set) sqlops.Fold {
	var sql struct{ Oldest, Count, Remove, Unpassed, Forget string }
	statements.Fill("alerts", &sql)
	return func(ctx context.Context, q sqlrun.Querier, r alerts.TakeRequest, taken *alerts.Taken) error {
		expire := sqlrun.Micros(r.Expire)
		var rows int
		var newest, gone int64
		if err := q.QueryRowContext(ctx, sql.Oldest, r.Namespace, r.Rows, expire).Scan(&rows, &newest, &taken.Expired); err != nil {
			return err
		}
		taken.More = rows >= r.Rows
		if rows > 0 {
			if _, err := q.ExecContext(ctx, sql.Count, r.Namespace, newest, expire); err != nil {
				return err
			}
			if _, err := q.ExecContext(ctx, sql.Remove, r.Namespace, newest); err != nil {
				return err
			}
		}
		if err := q.QueryRowContext(ctx, sql.Unpassed, r.Namespace, expire).Scan(&gone); err != nil {
			return err
		}
		taken.Expired += gone
		_, err := q.ExecContext(ctx, sql.Forget, r.Namespace, expire, sqlrun.Micros(r.Forget))
		return err
	}
}
