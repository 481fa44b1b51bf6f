package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/txn"
)

// alertStore implements alerts.Store.
type alertStore struct {
	db   *sql.DB
	plan planner

	append, waiting       string
	lease, renew, release string
	count, forget         string
	tried, due, settle    string
}

var _ alerts.Store = (*alertStore)(nil)

func newAlerts(db *sql.DB, plan planner, queries map[string]string) *alertStore {
	return &alertStore{
		db: db, plan: plan,
		append:  sqlfile.Get(queries, "alerts_append"),
		waiting: sqlfile.Get(queries, "alerts_waiting"),
		lease:   sqlfile.Get(queries, "alerts_lease"),
		renew:   sqlfile.Get(queries, "alerts_renew"),
		release: sqlfile.Get(queries, "alerts_release"),
		count:   sqlfile.Get(queries, "alerts_count"),
		forget:  sqlfile.Get(queries, "alerts_forget"),
		tried:   sqlfile.Get(queries, "alerts_tried"),
		due:     sqlfile.Get(queries, "alerts_due"),
		settle:  sqlfile.Get(queries, "alerts_settle"),
	}
}

// Append implements alerts.Appender.
func (s *alertStore) Append(ctx context.Context, t *txn.Txn, list []alerts.Alert) error {
	if len(list) == 0 {
		return nil
	}
	type alert = alerts.Alert
	for i := range list {
		if err := identity(list[i].Consumer, list[i].Handler, list[i].ErrorPrint); err != nil {
			return fmt.Errorf("append alerts: %w", err)
		}
	}
	texts := func(field func(*alert) string) any { return column(list, field) }
	_, err := s.plan.on(t.SQL()).ExecContext(ctx, s.append,
		texts(func(a *alert) string { return a.Consumer }),
		texts(func(a *alert) string { return a.Group() }),
		texts(func(a *alert) string { return string(a.Kind) }),
		texts(func(a *alert) string { return a.Handler }),
		texts(func(a *alert) string { return encode.Text(a.Topic, maxName) }),
		texts(func(a *alert) string { return a.Class }),
		texts(func(a *alert) string { return a.ErrorPrint }),
		column(list, func(a *alert) int64 { return a.LetterID }))
	if err != nil {
		return fmt.Errorf("append alerts: %w", err)
	}
	return nil
}

// Waiting implements alerts.Store.
func (s *alertStore) Waiting(ctx context.Context, namespace, owner string) (yes bool, err error) {
	if err := s.plan.on(s.db).QueryRowContext(ctx, s.waiting, namespace, owner).Scan(&yes); err != nil {
		return false, fmt.Errorf("look for alerts: %w", err)
	}
	return yes, nil
}

// Take implements alerts.Store.
func (s *alertStore) Take(ctx context.Context, t *txn.Txn, r alerts.TakeRequest) (alerts.Taken, error) {
	taken, err := s.take(ctx, s.plan.on(t.SQL()), r)
	if err != nil {
		return alerts.Taken{}, fmt.Errorf("take alerts: %w", err)
	}
	return taken, nil
}

func (s *alertStore) take(ctx context.Context, q dbtx, r alerts.TakeRequest) (alerts.Taken, error) {
	var taken alerts.Taken
	n, err := affected(q.ExecContext(ctx, s.lease, r.Namespace, r.Owner, micros(r.Lease)))
	if err != nil || n == 0 {
		return taken, err
	}
	taken.OK = true
	var rows int
	if err := q.QueryRowContext(ctx, s.count, r.Namespace, r.Rows, micros(r.Expire)).Scan(&rows, &taken.Expired); err != nil {
		return taken, fmt.Errorf("count: %w", err)
	}
	taken.More = rows >= r.Rows
	var gone int64
	if err := q.QueryRowContext(ctx, s.forget, r.Namespace, micros(r.Expire), micros(r.Forget)).Scan(&gone); err != nil {
		return taken, fmt.Errorf("forget: %w", err)
	}
	taken.Expired += gone
	if err := q.QueryRowContext(ctx, s.tried, r.Namespace).Scan(&taken.Until, &taken.Tried); err != nil {
		return taken, fmt.Errorf("tried: %w", err)
	}
	taken.Due, err = collect(ctx, q, s.due, []any{r.Namespace, taken.Until, r.Limit}, func(d *alerts.Due) []any {
		return []any{&d.Grp, &d.Kind, &d.Handler, &d.Topic, &d.Class, &d.ErrorPrint, &d.LetterID, &d.Count, &d.Since, &d.At,
			&d.First, &d.Failures, &taken.Groups, &taken.Count, &taken.Since, &taken.At}
	})
	if err != nil {
		return taken, fmt.Errorf("due: %w", err)
	}
	for i := range taken.Due {
		taken.Due[i].Consumer = r.Namespace
	}
	return taken, nil
}

// Settle implements alerts.Store.
func (s *alertStore) Settle(ctx context.Context, t *txn.Txn, r alerts.Settlement) (ok bool, err error) {
	q := s.plan.on(t.SQL())
	n, err := affected(q.ExecContext(ctx, s.renew, r.Namespace, r.Owner, micros(r.Lease)))
	if err != nil || n == 0 {
		return false, wrapped("renew the lease of alerts", err)
	}
	if _, err := q.ExecContext(ctx, s.settle, r.Namespace, r.Grp, r.Until, r.Passed, micros(r.Wait)); err != nil {
		return false, fmt.Errorf("settle alerts: %w", err)
	}
	return true, nil
}

// Release implements alerts.Store.
func (s *alertStore) Release(ctx context.Context, t *txn.Txn, namespace, owner string) error {
	_, err := s.plan.on(t.SQL()).ExecContext(ctx, s.release, namespace, owner)
	return wrapped("release the alerts", err)
}
