package sqlstore

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/sqlrun"
)

func (s *Letters) filter(f dlq.Filter) []any { return sqlrun.Letters(s, f) }

// letterFields returns the destinations of a letter's columns.
func letterFields(l *dlq.Letter) []any {
	d := &l.Delivery
	return []any{
		&l.LetterID, &l.State, &l.Class, &l.Consumer, &l.Handler, &d.Scope, &d.Key, &d.OrderKey, &l.Strict,
		&d.Fingerprint, &l.FirstFingerprint, &d.ID, &d.Topic, (*sqlrun.Blob)(&d.Payload), (*sqlrun.Headers)(&d.Metadata), sqlrun.Place(d),
		&d.Trace.Parent, &d.Trace.State, &l.Error, &l.ErrorFingerprint, sqlrun.JSON(&l.Chain), &l.Stack, &l.Attempts,
		(*sqlrun.Instant)(&l.FirstFailure), (*sqlrun.Instant)(&l.LastFailure), &l.PreviousID, &l.Redrives, &l.Host, &l.Build, &l.Environment,
		(*sqlrun.Instant)(&l.CreatedAt), (*sqlrun.Instant)(&l.ChangedAt), &d.ReplyTopic, &l.Deliveries,
	}
}

func (s *Letters) Get(ctx context.Context, id int64) (dlq.Letter, error) {
	letters, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Get, []any{id}, letterFields)
	if err != nil {
		return dlq.Letter{}, fmt.Errorf("read dead letter %d: %w", id, err)
	}
	if len(letters) == 0 {
		return dlq.Letter{}, fmt.Errorf("%w: %d", dlq.ErrNotFound, id)
	}
	return letters[0], nil
}

func (s *Letters) List(ctx context.Context, f dlq.Filter, before int64, limit int) (letters []dlq.Letter, err error) {
	defer sqlrun.Wrap("list dead letters", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, append(s.filter(f), before, limit), letterFields)
}

func (s *Letters) Groups(ctx context.Context, f dlq.Filter) (groups []dlq.Group, err error) {
	defer sqlrun.Wrap("group dead letters", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Groups, s.filter(f), func(g *dlq.Group) []any {
		return []any{&g.ErrorFingerprint, &g.Consumer, &g.Handler, &g.Class, &g.Count, (*sqlrun.Instant)(&g.First), (*sqlrun.Instant)(&g.Last), &g.Sample, &g.SampleID}
	})
}

func (s *Letters) Next(ctx context.Context, id int64) (next int64, err error) {
	defer sqlrun.Wrap(fmt.Sprintf("look for the letter after %d", id), &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Next, id).Scan(&next)
	return next, err
}

func (s *Letters) Count(ctx context.Context, f dlq.Filter) (n int64, err error) {
	defer sqlrun.Wrap("count dead letters", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Count, s.filter(f)...).Scan(&n)
	return n, err
}

func (s *Letters) Trail(ctx context.Context, id int64) (trail []dlq.Audit, err error) {
	defer sqlrun.Wrap(fmt.Sprintf("read what was done to dead letter %d", id), &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Trail, []any{id}, func(a *dlq.Audit) []any {
		return []any{&a.LetterID, &a.Action, &a.By, &a.DBUser, &a.Reason, &a.RedriveID, &a.Detail, (*sqlrun.Instant)(&a.At)}
	})
}
