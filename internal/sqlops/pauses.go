package sqlops

import (
	"cmp"
	"context"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
)

// Pauses implements instance.Pauses.
type Pauses struct {
	sqlrun.Table[struct {
		Pause, Resume, Get, List string
		Record                   string `sql:"audit_record"`
	}]
}

func (s *Pauses) Pause(ctx context.Context, p instance.Pause) (changed bool, err error) {
	defer sqlrun.Wrap("pause", &err)
	if err := cmp.Or(instance.CheckConsumer(p.Consumer), sqlrun.Identity(p.Consumer)); err != nil {
		return false, err
	}
	by, reason := encode.Text(p.By, sqlrun.MaxName), encode.Text(p.Reason, sqlrun.MaxError)
	return s.WriteRecorded(ctx, s.SQL.Pause, []any{p.Consumer, by, reason}, s.SQL.Record, audit.Consumer, p.Consumer, "pause", by, reason, 0, "")
}

func (s *Pauses) Resume(ctx context.Context, consumer, by string) (changed bool, err error) {
	defer sqlrun.Wrap("resume", &err)
	if !encode.Clean(consumer) {
		return false, nil // no row has such a name
	}
	by = encode.Text(by, sqlrun.MaxName)
	return s.WriteRecorded(ctx, s.SQL.Resume, []any{consumer, by}, s.SQL.Record, audit.Consumer, consumer, "resume", by, "", 0, "")
}

func (s *Pauses) Get(ctx context.Context, consumer string) (instance.Pause, error) {
	list, err := s.read(ctx, s.SQL.Get, consumer)
	if err != nil || len(list) == 0 {
		return instance.Pause{}, err
	}
	return list[0], nil
}

func (s *Pauses) List(ctx context.Context) ([]instance.Pause, error) {
	return s.read(ctx, s.SQL.List)
}

func (s *Pauses) read(ctx context.Context, query string, args ...any) (list []instance.Pause, err error) {
	defer sqlrun.Wrap("read pauses", &err)
	return sqlrun.Collect(ctx, s.Reader(), query, args, func(p *instance.Pause) []any {
		return []any{&p.Consumer, &p.By, &p.Reason, (*sqlrun.Instant)(&p.At), &p.ResumedBy, (*sqlrun.Instant)(&p.Resumed)}
	})
}
