package sqlstore

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/search"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/internal/sqlsearch"
)

func (s *Letters) Get(ctx context.Context, id int64) (dlq.Letter, error) {
	letters, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Get, []any{id}, sqlsearch.LetterFields)
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
	page, err := search.Letters(ctx, s, search.Request{Filter: f, Cursor: before, Limit: limit, Budget: search.ToTheEnd})
	return page.Letters, err
}

func (s *Letters) Groups(ctx context.Context, f dlq.Filter) (groups []dlq.Group, err error) {
	defer sqlrun.Wrap("group dead letters", &err)
	page, err := search.Groups(ctx, s, search.Request{Filter: f, Budget: search.ToTheEnd})
	return page.Groups, err
}

func (s *Letters) Next(ctx context.Context, id int64) (next int64, err error) {
	defer sqlrun.Wrap(fmt.Sprintf("look for the letter after %d", id), &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Next, id).Scan(&next)
	return next, err
}

func (s *Letters) Count(ctx context.Context, f dlq.Filter) (n int64, err error) {
	defer sqlrun.Wrap("count dead letters", &err)
	whole := f
	whole.Class = ""
	if whole.WholeGroups() {
		err = s.Reader().QueryRowContext(ctx, s.SQL.Count, f.Consumer, f.Handler, string(f.Class), f.ErrorFingerprint).Scan(&n)
		return n, err
	}
	return search.Count(ctx, s, f)
}

func (s *Letters) Trail(ctx context.Context, id int64) (trail []dlq.Audit, err error) {
	defer sqlrun.Wrap(fmt.Sprintf("read what was done to dead letter %d", id), &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Trail, []any{id}, func(a *dlq.Audit) []any {
		return []any{&a.LetterID, &a.Action, &a.By, &a.DBUser, &a.Reason, &a.RedriveID, &a.Detail, (*sqlrun.Instant)(&a.At)}
	})
}
