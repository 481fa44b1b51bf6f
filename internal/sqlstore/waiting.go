package sqlstore

import (
	"context"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/sqlrun"
)

// Waiting implements backlog.Admin.
type Waiting struct {
	sqlrun.Table[struct {
		List, ListFailed, Last, LastFailed, Groups, Get string
	}]
}

func (s *Waiting) List(ctx context.Context, f backlog.Filter, after int64, limit int) (rows []backlog.Row, next int64, err error) {
	defer sqlrun.Wrap("list the backlog", &err)
	list, last := s.SQL.List, s.SQL.Last
	var print []any
	if f.ErrorFingerprint != "" {
		list, last, print = s.SQL.ListFailed, s.SQL.LastFailed, []any{f.ErrorFingerprint}
	}
	var upTo int64
	var more bool
	if err := s.Reader().QueryRowContext(ctx, last, append([]any{after, backlog.MaxLook}, print...)...).Scan(&upTo, &more); err != nil {
		return nil, 0, err
	}
	args := append([]any{after, upTo, limit, f.Consumer, f.Handler, f.Status}, print...)
	rows, err = sqlrun.Collect(ctx, s.Reader(), list, args, waitingFields)
	switch {
	case err != nil:
		return nil, 0, err
	case len(rows) == limit && rows[limit-1].RowID < upTo:
		return rows, rows[limit-1].RowID, nil
	case more:
		return rows, upTo, nil
	}
	return rows, 0, nil
}

func (s *Waiting) Groups(ctx context.Context, f backlog.Filter) (groups []backlog.Group, err error) {
	defer sqlrun.Wrap("group the backlog", &err)
	args := []any{f.Consumer, f.Handler, f.ErrorFingerprint, backlog.MaxGroups, backlog.MaxCounted}
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Groups, args, func(g *backlog.Group) []any {
		return []any{&g.ErrorFingerprint, &g.Consumer, &g.Handler, &g.Count, &g.More, (*sqlrun.Instant)(&g.Due), &g.SampleID, &g.Error}
	})
}

func (s *Waiting) Get(ctx context.Context, row int64) (r backlog.Row, err error) {
	defer sqlrun.Wrap("read a row of the backlog", &err)
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Get, []any{row}, waitingFields)
	if err == nil && len(rows) == 0 {
		err = backlog.ErrNotFound
	}
	if err != nil {
		return backlog.Row{}, err
	}
	return rows[0], nil
}

// waitingFields returns the destinations of a row's columns.
func waitingFields(r *backlog.Row) []any {
	return append(itemFields(&r.Item),
		&r.Consumer, &r.Wait.Status, (*sqlrun.Instant)(&r.Wait.Due), (*sqlrun.Instant)(&r.Wait.Postponed), &r.Wait.Reason,
		(*sqlrun.Instant)(&r.Ready), &r.ErrorFingerprint, &r.Error, &r.PayloadBytes)
}
