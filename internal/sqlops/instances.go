package sqlops

import (
	"context"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Instances implements instance.Store.
type Instances struct {
	sqlrun.Table[struct {
		Start, Beat, End, EndMarks, List, Forget, ForgetMarks, ForgetSuspects string
	}]
}

func (s *Instances) Start(ctx context.Context, i instance.Instance) (err error) {
	defer sqlrun.Wrap("start instance", &err)
	if err := sqlrun.Identity(i.ID, i.Consumer); err != nil {
		return err
	}
	_, err = s.Write(ctx, s.SQL.Start, i.ID, i.Consumer, encode.Text(i.Host, sqlrun.MaxName), encode.Text(i.Build, sqlrun.MaxName),
		encode.Text(i.Environment, sqlrun.MaxName), sqlrun.Strings(i.Handlers))
	return err
}

func (s *Instances) Beat(ctx context.Context, id string, w instance.Work) (err error) {
	defer sqlrun.Wrap("beat", &err)
	n, err := s.Write(ctx, s.SQL.Beat, id, w.Rate, sqlrun.Micros(w.Median))
	if err == nil && n == 0 {
		err = instance.ErrUnknown
	}
	return err
}

func (s *Instances) End(ctx context.Context, id string) (err error) {
	defer sqlrun.Wrap("end instance", &err)
	return s.Transact(ctx, func(t *txn.Txn) error {
		return sqlrun.Steps(ctx, t, []any{id}, s.SQL.End, s.SQL.EndMarks)
	})
}

func (s *Instances) List(ctx context.Context, consumer string) (list []instance.Instance, err error) {
	defer sqlrun.Wrap("list instances", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{consumer}, func(i *instance.Instance) []any {
		return []any{
			&i.ID, &i.Consumer, &i.Host, &i.Build, &i.Environment, sqlrun.JSON(&i.Handlers), (*sqlrun.Instant)(&i.Started), (*sqlrun.Instant)(&i.Beat), (*sqlrun.Span)(&i.Age),
			(*sqlrun.Instant)(&i.Ended), (*sqlrun.Instant)(&i.Counted), (*sqlrun.Span)(&i.DeadFor), &i.Rate, (*sqlrun.Span)(&i.Median),
		}
	})
}

func (s *Instances) Forget(ctx context.Context, age time.Duration) (err error) {
	defer sqlrun.Wrap("forget instances", &err)
	return s.Transact(ctx, func(t *txn.Txn) error {
		if err := sqlrun.Steps(ctx, t, []any{sqlrun.Micros(age)}, s.SQL.Forget, s.SQL.ForgetSuspects); err != nil {
			return err
		}
		return sqlrun.Steps(ctx, t, nil, s.SQL.ForgetMarks)
	})
}
