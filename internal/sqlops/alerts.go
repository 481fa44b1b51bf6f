package sqlops

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Alerts implements alerts.Store.
type Alerts struct {
	sqlrun.Table[struct {
		Append, Waiting, Lease, Renew, Release, Tried, Due, Settle string
	}]
	// Fold is the driver's.
	Fold Fold
}

// Fold counts the oldest rows of a namespace into their groups, and removes them and
// expired rows. It sets Taken.More and Expired.
type Fold func(ctx context.Context, q sqlrun.Querier, r alerts.TakeRequest, taken *alerts.Taken) error

func (s *Alerts) Append(ctx context.Context, t *txn.Txn, list []alerts.Alert) (err error) {
	defer sqlrun.Wrap("append alerts", &err)
	type alert = alerts.Alert
	if len(list) == 0 {
		return nil
	}
	for i := range list {
		if err := sqlrun.Identity(list[i].Consumer, list[i].Handler, list[i].ErrorFingerprint); err != nil {
			return err
		}
	}
	_, err = t.ExecContext(ctx, s.SQL.Append, s.Many(
		sqlrun.Texts(list, func(a *alert) string { return a.Consumer }),
		sqlrun.Texts(list, func(a *alert) string { return a.Group() }),
		sqlrun.Texts(list, func(a *alert) string { return string(a.Kind) }),
		sqlrun.Texts(list, func(a *alert) string { return a.Handler }),
		sqlrun.Named(list, func(a *alert) string { return a.Topic }),
		sqlrun.Texts(list, func(a *alert) string { return a.Class }),
		sqlrun.Texts(list, func(a *alert) string { return a.ErrorFingerprint }),
		sqlrun.Numbers(list, func(a *alert) int64 { return a.LetterID }))...)
	return err
}

func (s *Alerts) Waiting(ctx context.Context, namespace, owner string) (yes bool, err error) {
	defer sqlrun.Wrap("look for alerts", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Waiting, namespace, owner).Scan(&yes)
	return yes, err
}

func (s *Alerts) Take(ctx context.Context, t *txn.Txn, r alerts.TakeRequest) (taken alerts.Taken, err error) {
	defer sqlrun.Wrap("take alerts", &err)
	n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Lease, r.Namespace, r.Owner, sqlrun.Micros(r.Lease)))
	if err != nil || n == 0 {
		return taken, err
	}
	taken.OK = true
	if err := s.Fold(ctx, t, r, &taken); err != nil {
		return taken, fmt.Errorf("count: %w", err)
	}
	if err := t.QueryRowContext(ctx, s.SQL.Tried, r.Namespace).Scan((*sqlrun.Instant)(&taken.Until), &taken.Tried); err != nil {
		return taken, fmt.Errorf("tried: %w", err)
	}
	taken.Due, err = sqlrun.Collect(ctx, t, s.SQL.Due, []any{r.Namespace, s.Time(taken.Until), r.Limit}, func(d *alerts.Due) []any {
		d.Consumer = r.Namespace
		return []any{
			&d.Grp, &d.Kind, &d.Handler, &d.Topic, &d.Class, &d.ErrorFingerprint, &d.LetterID, &d.Count, (*sqlrun.Instant)(&d.Since), (*sqlrun.Instant)(&d.At),
			&d.First, &d.Failures, &taken.Groups, &taken.Count, (*sqlrun.Instant)(&taken.Since), (*sqlrun.Instant)(&taken.At),
		}
	})
	return taken, err
}

func (s *Alerts) Settle(ctx context.Context, t *txn.Txn, r alerts.Settlement) (ok bool, err error) {
	defer sqlrun.Wrap("settle alerts", &err)
	n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Renew, r.Namespace, r.Owner, sqlrun.Micros(r.Lease)))
	if err != nil || n == 0 {
		return false, err
	}
	_, err = t.ExecContext(ctx, s.SQL.Settle, r.Namespace, r.Grp, s.Time(r.Until), r.Passed, sqlrun.Micros(r.Wait))
	return err == nil, err
}

func (s *Alerts) Release(ctx context.Context, t *txn.Txn, namespace, owner string) (err error) {
	defer sqlrun.Wrap("release the alerts", &err)
	_, err = t.ExecContext(ctx, s.SQL.Release, namespace, owner)
	return err
}
