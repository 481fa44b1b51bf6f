package postgres

import (
	"context"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/internal/sqlops"
	"github.com/headrace/headrace/internal/sqlrun"
)

// newFold returns the function that counts alerts.
func newFold(statements sqlfile.Set) sqlops.Fold {
	count, forget := statements.Get("alerts_count"), statements.Get("alerts_forget")
	return func(ctx context.Context, q sqlrun.Querier, r alerts.TakeRequest, taken *alerts.Taken) error {
		var rows int
		var gone int64
		err := q.QueryRowContext(ctx, count, r.Namespace, r.Rows, sqlrun.Micros(r.Expire)).Scan(&rows, &taken.Expired)
		if err == nil {
			err = q.QueryRowContext(ctx, forget, r.Namespace, sqlrun.Micros(r.Expire), sqlrun.Micros(r.Forget)).Scan(&gone)
		}
		taken.More, taken.Expired = rows >= r.Rows, taken.Expired+gone
		return err
	}
}
