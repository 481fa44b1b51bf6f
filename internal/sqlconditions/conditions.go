package sqlconditions

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"path/filepath"
	"strings"
	"time"

	"github.com/headrace/headrace/alerts/condition"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Conditions implements condition.Store.
type Conditions struct {
	sqlrun.Table[struct {
		Origin, Lease, Look, Renew, Release, List, Put, PutSend, Gone, Sends, Oldest, ForgetSends, Forget string
	}]
	// Schema is the name of the schema.
	Schema string
}

// renewTime is how much longer a lease lasts after a change.
const renewTime = 30 * time.Second

func (s *Conditions) Origin(ctx context.Context) (o condition.Origin, err error) {
	defer sqlrun.Wrap("read the database's id", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Origin, s.Schema).Scan(&o.ID, &o.Database, &o.Schema)
	if strings.ContainsAny(o.Database, `/\`) {
		o.Database = filepath.Base(o.Database) // of a file, without where it is
	}
	return o, err
}

func (s *Conditions) Lease(ctx context.Context, name, owner string, term, every time.Duration) (now time.Time, ok bool, err error) {
	defer sqlrun.Wrap("lease "+name, &err)
	if err := s.Reader().QueryRowContext(ctx, s.SQL.Look, name, owner, sqlrun.Micros(every)).Scan(&ok); err != nil || !ok {
		return now, false, err
	}
	err = s.Transact(ctx, func(t *txn.Txn) error {
		err := t.QueryRowContext(ctx, s.SQL.Lease, name, owner, sqlrun.Micros(term), sqlrun.Micros(every)).Scan((*sqlrun.Instant)(&now))
		if ok = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil
		}
		return err
	})
	return now, ok && err == nil, err
}

func (s *Conditions) Release(ctx context.Context, name, owner string, done bool) (err error) {
	defer sqlrun.Wrap("release "+name, &err)
	_, err = s.Write(ctx, s.SQL.Release, name, owner, done)
	return err
}

func (s *Conditions) List(ctx context.Context, namespace string, all bool) (list []condition.Condition, err error) {
	defer sqlrun.Wrap("read conditions", &err)
	type row struct {
		condition.Condition
		alert string
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{namespace, all}, func(r *row) []any {
		return []any{
			&r.Key, &r.Namespace, &r.Kind, &r.Instance, &r.Severity, &r.State, (*sqlrun.Instant)(&r.Since), (*sqlrun.Instant)(&r.Quiet),
			(*sqlrun.Instant)(&r.Ended), &r.Count, &r.Base, (*sqlrun.Instant)(&r.BaseAt), &r.Known, &r.alert,
		}
	})
	for _, r := range rows {
		c := r.Condition
		if err := json.Unmarshal([]byte(r.alert), &c.Alert); err != nil {
			return nil, err
		}
		c.Key, c.Kind, c.Severity, c.Since, c.Count, c.At = r.Key, r.Kind, r.Severity, r.Since, r.Count, r.Ended
		list = append(list, c)
	}
	return list, err
}

func (s *Conditions) Put(ctx context.Context, name, owner string, c condition.Change) (ok bool, err error) {
	defer sqlrun.Wrap("write conditions", &err)
	err = s.Transact(ctx, func(t *txn.Txn) error {
		if name != "" {
			n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Renew, name, owner, sqlrun.Micros(renewTime)))
			if ok = n > 0; err != nil || !ok {
				return err
			}
		}
		ok = true
		for i := range c.Conditions {
			if err := s.put(ctx, t, &c.Conditions[i]); err != nil {
				return err
			}
		}
		for _, key := range c.Gone {
			if err := sqlrun.Steps(ctx, t, []any{key}, s.SQL.Gone); err != nil {
				return err
			}
		}
		for _, x := range c.Sends {
			args := []any{
				x.Key, x.Sink, string(x.Phase), string(x.Severity), x.Count, s.Time(x.Sent), x.Failures, s.Time(x.Failing), s.Time(x.Down), s.Time(x.Due),
				encode.Text(x.Error, sqlrun.MaxError), x.Lost,
			}
			if err := sqlrun.Steps(ctx, t, args, s.SQL.PutSend); err != nil {
				return err
			}
		}
		return nil
	})
	return ok && err == nil, err
}

func (s *Conditions) put(ctx context.Context, t *txn.Txn, c *condition.Condition) error {
	for _, text := range []*string{&c.Title, &c.Text, &c.Error} {
		*text = encode.Text(*text, sqlrun.MaxError)
	}
	if err := sqlrun.Identity(c.Consumer, c.Handler, c.ErrorFingerprint, c.Topic); err != nil {
		return err
	}
	alert, err := json.Marshal(c.Alert)
	if err != nil {
		return err
	}
	return sqlrun.Steps(ctx, t, []any{
		c.Key, c.Namespace, string(c.Kind), c.Consumer, c.Handler, c.ErrorFingerprint, c.Instance, string(c.Severity), string(c.State), s.Time(c.Since),
		s.Time(c.Quiet), s.Time(c.Ended), c.Count, c.Base, s.Time(c.BaseAt), c.Known, string(alert),
	}, s.SQL.Put)
}

func (s *Conditions) Sends(ctx context.Context, namespace, sink string, all bool) (list []condition.Send, err error) {
	defer sqlrun.Wrap("read what was sent", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Sends, []any{namespace, sink, all}, func(x *condition.Send) []any {
		return []any{
			&x.Key, &x.Sink, &x.Phase, &x.Severity, &x.Count, (*sqlrun.Instant)(&x.Sent), &x.Failures, (*sqlrun.Instant)(&x.Failing),
			(*sqlrun.Instant)(&x.Down), (*sqlrun.Instant)(&x.Due), &x.Error, &x.Lost,
		}
	})
}

func (s *Conditions) Oldest(ctx context.Context, consumer string) (oldest, unmuted time.Time, err error) {
	defer sqlrun.Wrap("look for the oldest dead letter", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Oldest, consumer).Scan((*sqlrun.Instant)(&oldest), (*sqlrun.Instant)(&unmuted))
	return oldest, unmuted, err
}

func (s *Conditions) Forget(ctx context.Context, age time.Duration) (err error) {
	defer sqlrun.Wrap("forget conditions", &err)
	return s.Transact(ctx, func(t *txn.Txn) error {
		return sqlrun.Steps(ctx, t, []any{sqlrun.Micros(age)}, s.SQL.ForgetSends, s.SQL.Forget)
	})
}
