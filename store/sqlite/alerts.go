package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/alerts"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store/txn"
)

// alertStore implements alerts.Store.
type alertStore struct {
	s *Store

	append, waiting         string
	lease, renew, release   string
	oldest, count, remove   string
	unpassed, forget, tried string
	due, settle             string
}

var _ alerts.Store = (*alertStore)(nil)

func newAlerts(s *Store, q queries) *alertStore {
	return &alertStore{
		s:        s,
		append:   q.get("alerts_append"),
		waiting:  q.get("alerts_waiting"),
		lease:    q.get("alerts_lease"),
		renew:    q.get("alerts_renew"),
		release:  q.get("alerts_release"),
		oldest:   q.get("alerts_oldest"),
		count:    q.get("alerts_count"),
		remove:   q.get("alerts_remove"),
		unpassed: q.get("alerts_unpassed"),
		forget:   q.get("alerts_forget"),
		tried:    q.get("alerts_tried"),
		due:      q.get("alerts_due"),
		settle:   q.get("alerts_settle"),
	}
}

// Append implements alerts.Appender.
func (s *alertStore) Append(ctx context.Context, t *txn.Txn, rows []alerts.Alert) error {
	if len(rows) == 0 {
		return nil
	}
	values := make([][8]any, len(rows))
	for n, a := range rows {
		if err := identity(a.Consumer, a.Handler, a.ErrorPrint); err != nil {
			return fmt.Errorf("append alerts: %w", err)
		}
		values[n] = [8]any{a.Consumer, a.Group(), a.Kind, a.Handler, encode.Text(a.Topic, maxName), a.Class, a.ErrorPrint, a.LetterID}
	}
	all, err := list(values)
	if err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, s.append, all); err != nil {
		return fmt.Errorf("append alerts: %w", err)
	}
	return nil
}

// Waiting implements alerts.Store.
func (s *alertStore) Waiting(ctx context.Context, namespace, owner string) (yes bool, err error) {
	if err := s.s.read.QueryRowContext(ctx, s.waiting, namespace, owner).Scan(&yes); err != nil {
		return false, fmt.Errorf("look for alerts: %w", err)
	}
	return yes, nil
}

// Take implements alerts.Store.
func (s *alertStore) Take(ctx context.Context, t *txn.Txn, r alerts.TakeRequest) (alerts.Taken, error) {
	taken, err := s.take(ctx, t, r)
	if err != nil {
		return alerts.Taken{}, fmt.Errorf("take alerts: %w", err)
	}
	return taken, nil
}

func (s *alertStore) take(ctx context.Context, t *txn.Txn, r alerts.TakeRequest) (alerts.Taken, error) {
	var taken alerts.Taken
	n, err := exec(ctx, t, s.lease, r.Namespace, r.Owner, us(r.Lease))
	if err != nil || n == 0 {
		return taken, err
	}
	taken.OK = true
	if err := s.fold(ctx, t, r, &taken); err != nil {
		return taken, fmt.Errorf("count: %w", err)
	}
	var until micros
	if err := t.QueryRowContext(ctx, s.tried, r.Namespace).Scan(&until, &taken.Tried); err != nil {
		return taken, fmt.Errorf("tried: %w", err)
	}
	taken.Until = time.Time(until)
	taken.Due, err = collect(ctx, t, s.due, []any{r.Namespace, taken.Until.UnixMicro(), r.Limit}, func(row scanner) (alerts.Due, error) {
		d := alerts.Due{Alert: alerts.Alert{Consumer: r.Namespace}}
		err := row.Scan(&d.Grp, &d.Kind, &d.Handler, &d.Topic, &d.Class, &d.ErrorPrint, &d.LetterID, &d.Count, (*micros)(&d.Since), (*micros)(&d.At),
			&d.First, &d.Failures, &taken.Groups, &taken.Count, (*micros)(&taken.Since), (*micros)(&taken.At))
		return d, err
	})
	if err != nil {
		return taken, fmt.Errorf("due: %w", err)
	}
	return taken, nil
}

// fold counts the oldest rows into their groups and removes them, and what has
// been there for too long.
func (s *alertStore) fold(ctx context.Context, t *txn.Txn, r alerts.TakeRequest, taken *alerts.Taken) error {
	var rows int
	var newest int64
	if err := t.QueryRowContext(ctx, s.oldest, r.Namespace, r.Rows, us(r.Expire)).Scan(&rows, &newest, &taken.Expired); err != nil {
		return err
	}
	taken.More = rows >= r.Rows
	if rows > 0 {
		if _, err := t.ExecContext(ctx, s.count, r.Namespace, newest, us(r.Expire)); err != nil {
			return err
		}
		if _, err := t.ExecContext(ctx, s.remove, r.Namespace, newest); err != nil {
			return err
		}
	}
	var gone int64
	if err := t.QueryRowContext(ctx, s.unpassed, r.Namespace, us(r.Expire)).Scan(&gone); err != nil {
		return err
	}
	taken.Expired += gone
	_, err := t.ExecContext(ctx, s.forget, r.Namespace, us(r.Expire), us(r.Forget))
	return err
}

// Settle implements alerts.Store.
func (s *alertStore) Settle(ctx context.Context, t *txn.Txn, r alerts.Settlement) (ok bool, err error) {
	n, err := exec(ctx, t, s.renew, r.Namespace, r.Owner, us(r.Lease))
	if err != nil {
		return false, fmt.Errorf("renew the lease of alerts: %w", err)
	}
	if n == 0 {
		return false, nil
	}
	if _, err := exec(ctx, t, s.settle, r.Namespace, r.Grp, r.Until.UnixMicro(), r.Passed, us(r.Wait)); err != nil {
		return false, fmt.Errorf("settle alerts: %w", err)
	}
	return true, nil
}

// Release implements alerts.Store.
func (s *alertStore) Release(ctx context.Context, t *txn.Txn, namespace, owner string) error {
	if _, err := exec(ctx, t, s.release, namespace, owner); err != nil {
		return fmt.Errorf("release the alerts: %w", err)
	}
	return nil
}

// exec runs a statement and returns how many rows it changed.
func exec(ctx context.Context, t *txn.Txn, query string, args ...any) (int64, error) {
	result, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	return result.RowsAffected()
}
