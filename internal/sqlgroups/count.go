package sqlgroups

import (
	"context"
	"time"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/shard"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

func (s *Groups) Lock(ctx context.Context, t *txn.Txn) (now time.Time, locked bool, err error) {
	defer sqlrun.Wrap("lock the counters", &err)
	err = t.QueryRowContext(ctx, s.SQL.Lock, lockArgs(s)...).Scan((*sqlrun.Instant)(&now), &locked)
	return now, locked, err
}

// lockArgs is the number of the lock, where there is one.
func lockArgs(s *Groups) []any {
	if s.SQL.RecountLock == "" {
		return nil
	}
	return []any{shard.Lock("groups", s.Schema, "")}
}

func (s *Groups) Take(ctx context.Context, t *txn.Txn, limit int) (changes []groups.Change, err error) {
	defer sqlrun.Wrap("take changes of letters", &err)
	return sqlrun.Collect(ctx, t, s.SQL.Take, []any{limit}, func(c *groups.Change) []any {
		return []any{
			&c.Consumer, &c.Handler, &c.ErrorFingerprint, &c.Class, &c.Build, &c.Opened, &c.Closed, &c.Expired, &c.Discarded, &c.Oldest, &c.Newest, (*sqlrun.Instant)(&c.At),
		}
	})
}

func (s *Groups) Get(ctx context.Context, t *txn.Txn, ids []groups.ID) (list []groups.Group, err error) {
	defer sqlrun.Wrap("load groups", &err)
	if len(ids) == 0 {
		return nil, nil
	}
	return sqlrun.Collect(ctx, t, s.SQL.Get, s.names(ids), fields)
}

func (s *Groups) Overdue(ctx context.Context, t *txn.Txn, limit int) (list []groups.Group, err error) {
	defer sqlrun.Wrap("load groups that are due", &err)
	return sqlrun.Collect(ctx, t, s.SQL.Overdue, []any{limit}, fields)
}

func (s *Groups) Week(ctx context.Context, t *txn.Txn, ids []groups.ID) (map[groups.ID][]groups.Hour, error) {
	week := make(map[groups.ID][]groups.Hour)
	if len(ids) == 0 {
		return week, nil
	}
	type row struct {
		groups.ID
		groups.Hour
	}
	rows, err := sqlrun.Collect(ctx, t, s.SQL.Week, s.names(ids), func(r *row) []any {
		return append([]any{&r.Consumer, &r.Handler, &r.ErrorFingerprint}, hourFields(&r.Hour)...)
	})
	sqlrun.Wrap("read the last hours of groups", &err)
	for _, r := range rows {
		week[r.ID] = append(week[r.ID], r.Hour)
	}
	return week, err
}

func (s *Groups) Order(ctx context.Context, t *txn.Txn, consumer string) (builds []groups.Build, err error) {
	defer sqlrun.Wrap("note builds", &err)
	if err := sqlrun.Steps(ctx, t, []any{consumer}, s.SQL.NoteBuilds); err != nil {
		return nil, err
	}
	return sqlrun.Collect(ctx, t, s.SQL.Builds, []any{consumer, sqlrun.Micros(instance.Missed)}, buildFields)
}

func (s *Groups) Unfinished(ctx context.Context, t *txn.Txn, ids []groups.ID) (map[groups.ID]bool, error) {
	unfinished := make(map[groups.ID]bool)
	if len(ids) == 0 {
		return unfinished, nil
	}
	rows, err := sqlrun.Collect(ctx, t, s.SQL.Unfinished, s.names(ids), func(id *groups.ID) []any {
		return []any{&id.Consumer, &id.Handler, &id.ErrorFingerprint}
	})
	sqlrun.Wrap("look for redrives under way", &err)
	for _, id := range rows {
		unfinished[id] = true
	}
	return unfinished, err
}

func (s *Groups) names(ids []groups.ID) []any { return s.Many(columns(ids, self)...) }

func self(id *groups.ID) groups.ID { return *id }

// columns are the names of the groups of rows.
func columns[R any](rows []R, of func(*R) groups.ID) []any {
	return []any{
		sqlrun.Texts(rows, func(r *R) string { return of(r).Consumer }),
		sqlrun.Texts(rows, func(r *R) string { return of(r).Handler }),
		sqlrun.Texts(rows, func(r *R) string { return of(r).ErrorFingerprint }),
	}
}

// micros is a time for a column of many: µs since 1970, 0 for none.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMicro()
}

func (s *Groups) Put(ctx context.Context, t *txn.Txn, list []groups.Group, hours map[groups.ID][]groups.Hour) (err error) {
	defer sqlrun.Wrap("write groups", &err)
	if len(list) > 0 {
		if err := sqlrun.Steps(ctx, t, s.Many(groupColumns(list)...), s.SQL.Put); err != nil {
			return err
		}
	}
	type row struct {
		groups.ID
		groups.Hour
	}
	var rows []row
	for id, of := range hours {
		for _, h := range of {
			rows = append(rows, row{id, h})
		}
	}
	if len(rows) == 0 {
		return nil
	}
	return sqlrun.Steps(ctx, t, s.Many(append(columns(rows, func(r *row) groups.ID { return r.ID }),
		sqlrun.Numbers(rows, func(r *row) int64 { return micros(r.Start) }),
		sqlrun.Texts(rows, func(r *row) string { return r.Build }),
		sqlrun.Numbers(rows, func(r *row) int64 { return r.Count }),
		sqlrun.Numbers(rows, func(r *row) int64 { return micros(r.Hour.First) }))...), s.SQL.PutHours)
}

func groupColumns(list []groups.Group) []any {
	type group = groups.Group
	return append(columns(list, func(g *group) groups.ID { return g.ID }),
		sqlrun.Texts(list, func(g *group) string { return string(g.Class) }),
		sqlrun.Texts(list, func(g *group) string { return string(g.State) }),
		sqlrun.Numbers(list, func(g *group) int64 { return micros(g.StateAt) }),
		sqlrun.Numbers(list, func(g *group) int64 { return g.Open }),
		sqlrun.Numbers(list, func(g *group) int64 { return g.Total }),
		sqlrun.Numbers(list, func(g *group) int64 { return micros(g.First) }),
		sqlrun.Numbers(list, func(g *group) int64 { return micros(g.Last) }),
		sqlrun.Texts(list, func(g *group) string { return g.FirstBuild }),
		sqlrun.Texts(list, func(g *group) string { return g.LastBuild }),
		sqlrun.Numbers(list, func(g *group) int64 { return g.FirstLetter }),
		sqlrun.Numbers(list, func(g *group) int64 { return g.LastLetter }),
		sqlrun.Texts(list, func(g *group) string { return g.Sample }),
		sqlrun.Numbers(list, func(g *group) int64 { return micros(g.ResolvedAt) }),
		sqlrun.Texts(list, func(g *group) string { return g.ResolvedBy }),
		sqlrun.Texts(list, func(g *group) string { return g.ResolvedBuild }),
		sqlrun.Numbers(list, func(g *group) int64 { return micros(g.MutedUntil) }),
		sqlrun.Numbers(list, func(g *group) int64 { return g.MutedCount }),
		sqlrun.Texts(list, func(g *group) string { return g.MutedBy }),
		sqlrun.Column(list, func(g *group) bool { return g.EvenIfWorse }))
}
