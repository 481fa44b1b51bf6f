package sqlrequests

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Requests implements instance.Requests.
type Requests struct {
	sqlrun.Table[struct{ Ask, Once, Look, Take, Answer, Record, Get, Expire, Forget string }]
}

func (s *Requests) Ask(ctx context.Context, r instance.Request, valid time.Duration) (id int64, err error) {
	defer sqlrun.Wrap("ask", &err)
	if err := cmp.Or(instance.CheckConsumer(r.Consumer), sqlrun.Identity(r.Consumer, r.Kind, r.Build, r.Host, r.Once)); err != nil {
		return 0, err
	}
	if valid <= 0 || valid > instance.MaxValid {
		return 0, fmt.Errorf("%s is not between 0 and %s", valid, instance.MaxValid)
	}
	if len(r.Args) == 0 {
		r.Args = []byte("null")
	}
	if !json.Valid(r.Args) || !encode.Clean(string(r.Args)) {
		return 0, errors.New("the arguments are no JSON")
	}
	err = s.Transact(ctx, func(t *txn.Txn) error {
		err := t.QueryRowContext(ctx, s.SQL.Ask, r.Kind, r.Consumer, r.Build, r.Host, string(r.Args),
			encode.Text(r.By, sqlrun.MaxName), encode.Text(r.Reason, sqlrun.MaxError), sqlrun.Micros(valid), r.Once).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			return nil // the form was sent before
		}
		return err
	})
	if err == nil && id == 0 {
		return s.Asked(ctx, r.Once)
	}
	return id, err
}

func (s *Requests) Asked(ctx context.Context, once string) (id int64, err error) {
	defer sqlrun.Wrap("look for a request", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Once, once).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return 0, nil
	}
	return id, err
}

func (s *Requests) Take(ctx context.Context, self instance.Instance, kinds []string) (r instance.Request, ok bool, err error) {
	defer sqlrun.Wrap("take a request", &err)
	args := append([]any{self.Consumer, encode.Text(self.Build, sqlrun.MaxName), encode.Text(self.Host, sqlrun.MaxName)}, s.Many(kinds)...)
	if err := s.Reader().QueryRowContext(ctx, s.SQL.Look, args...).Scan(&ok); err != nil || !ok {
		return instance.Request{}, false, err
	}
	err = s.Transact(ctx, func(t *txn.Txn) error {
		err := t.QueryRowContext(ctx, s.SQL.Take, append(args, self.ID, takenBy(self))...).Scan(into(&r)...)
		if ok = err == nil; errors.Is(err, sql.ErrNoRows) {
			return nil // another process was faster
		}
		return err
	})
	if err != nil || !ok {
		return instance.Request{}, false, err
	}
	return r, true, nil
}

// takenBy names a process for a person.
func takenBy(i instance.Instance) string {
	if i.Build == "" {
		return encode.Text(i.Host, sqlrun.MaxName)
	}
	return encode.Text(i.Host+", "+i.Build, sqlrun.MaxName)
}

func (s *Requests) Answer(ctx context.Context, id int64, self instance.Instance, a instance.Answer) (err error) {
	defer sqlrun.Wrap("answer a request", &err)
	var value any
	if a.State == instance.RequestDone || a.State == instance.RequestTaken {
		if !json.Valid(a.Value) || !encode.Clean(string(a.Value)) {
			return errors.New("the value is no JSON")
		}
		value = string(a.Value)
	}
	return s.Transact(ctx, func(t *txn.Txn) error {
		n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.Answer, id, self.ID, string(a.State), value, encode.Text(a.Error, sqlrun.MaxError)))
		if err == nil && n > 0 && a.State == instance.RequestRefused {
			_, err = t.ExecContext(ctx, s.SQL.Record, id)
		}
		return err
	})
}

func (s *Requests) Get(ctx context.Context, id int64) (r instance.Request, a instance.Answer, ok bool, err error) {
	defer sqlrun.Wrap("read a request", &err)
	columns := append(into(&r), (*sqlrun.Span)(&r.Left), &a.State, &a.Instance, &a.TakenBy, (*sqlrun.Blob)(&a.Value), &a.Error)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Get, id).Scan(columns...)
	if errors.Is(err, sql.ErrNoRows) {
		return instance.Request{}, instance.Answer{}, false, nil
	}
	return r, a, err == nil, err
}

func (s *Requests) Expire(ctx context.Context, age time.Duration) (err error) {
	defer sqlrun.Wrap("expire requests", &err)
	_, err = s.Write(ctx, s.SQL.Expire, sqlrun.Micros(age))
	return err
}

func (s *Requests) Forget(ctx context.Context, age time.Duration) (err error) {
	defer sqlrun.Wrap("forget requests", &err)
	_, err = s.Write(ctx, s.SQL.Forget, sqlrun.Micros(age))
	return err
}

// into returns the destinations of a row's columns.
func into(r *instance.Request) []any {
	return []any{
		&r.ID, &r.Kind, &r.Consumer, &r.Build, &r.Host, (*sqlrun.Blob)(&r.Args), &r.By, &r.Reason, &r.DBUser,
		(*sqlrun.Instant)(&r.At), (*sqlrun.Instant)(&r.Until),
	}
}
