package sqlgroups

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/headrace/headrace/dlq/groups"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
)

// Groups implements groups.Store.
type Groups struct {
	sqlrun.Table[struct {
		List, Begun, Hours, Day, Builds, Behind, States, Due string

		Lock, Take, Get, Overdue, Week, NoteBuilds, Unfinished, Put, PutHours string

		Resolve, Mute, Unmute, Record, Note  string
		PruneHours, PruneGroups, PruneBuilds string

		// There are none where a transaction has the whole database.
		RecountLock   string `sql:"optional"`
		RecountFreeze string `sql:"optional"`

		RecountChanges, RecountHours, RecountGroups, RecountClosed string
	}]
	// Schema is the schema's name, for the number of the lock.
	Schema string
}

func fields(g *groups.Group) []any {
	return []any{
		&g.Consumer, &g.Handler, &g.ErrorFingerprint, &g.Class, &g.State, (*sqlrun.Instant)(&g.StateAt), &g.Open, &g.Total,
		(*sqlrun.Instant)(&g.First), (*sqlrun.Instant)(&g.Last), &g.FirstBuild, &g.LastBuild, &g.FirstLetter, &g.LastLetter, &g.Sample,
		(*sqlrun.Instant)(&g.ResolvedAt), &g.ResolvedBy, &g.ResolvedBuild,
		(*sqlrun.Instant)(&g.MutedUntil), &g.MutedCount, &g.MutedBy, &g.EvenIfWorse, &g.Assignee, &g.Note, &g.Link,
	}
}

func hourFields(h *groups.Hour) []any {
	return []any{(*sqlrun.Instant)(&h.Start), &h.Build, &h.Count, (*sqlrun.Instant)(&h.First)}
}

func buildFields(b *groups.Build) []any {
	return []any{&b.Name, (*sqlrun.Instant)(&b.First), &b.Running}
}

func (s *Groups) List(ctx context.Context, f groups.Filter) (list []groups.Group, err error) {
	defer sqlrun.Wrap("list groups of dead letters", &err)
	// No column contains text with a NUL byte or in another encoding.
	text := func(s string) string { return encode.Text(s, 0) }
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, []any{text(f.Consumer), text(f.Handler), text(f.ErrorFingerprint), f.Closed}, fields)
}

func (s *Groups) Begun(ctx context.Context, consumer string, limit int) (list []groups.Group, err error) {
	defer sqlrun.Wrap("list groups that may have begun to fail", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Begun, []any{encode.Text(consumer, 0), limit}, fields)
}

func (s *Groups) Hours(ctx context.Context, id groups.ID) (hours []groups.Hour, err error) {
	defer sqlrun.Wrap("count the letters of a group by hour", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Hours, []any{id.Consumer, id.Handler, id.ErrorFingerprint}, hourFields)
}

func (s *Groups) Day(ctx context.Context, ids []groups.ID) (days [][]groups.Hour, err error) {
	defer sqlrun.Wrap("count the letters of a day", &err)
	type numbered struct {
		n int
		groups.Hour
	}
	list, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Day, s.Many(columns(ids, func(id *groups.ID) groups.ID { return *id })...), func(h *numbered) []any {
		return append([]any{&h.n}, hourFields(&h.Hour)...)
	})
	days = make([][]groups.Hour, len(ids))
	for _, h := range list {
		days[h.n-1] = append(days[h.n-1], h.Hour)
	}
	return days, err
}

func (s *Groups) Builds(ctx context.Context, consumer string) (builds []groups.Build, err error) {
	defer sqlrun.Wrap("list builds", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.Builds, []any{consumer, sqlrun.Micros(instance.Missed)}, buildFields)
}

func (s *Groups) Behind(ctx context.Context) (age time.Duration, waits bool, err error) {
	defer sqlrun.Wrap("look for changes of letters", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Behind).Scan((*sqlrun.Span)(&age))
	if errors.Is(err, sql.ErrNoRows) {
		return 0, false, nil
	}
	return age, err == nil, err
}

func (s *Groups) States(ctx context.Context, consumer string) (map[groups.State]groups.Open, error) {
	type row struct {
		groups.State
		groups.Open
	}
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.States, []any{consumer}, func(r *row) []any {
		return []any{&r.State, &r.Groups, (*sqlrun.Span)(&r.Oldest)}
	})
	sqlrun.Wrap("count groups by state", &err)
	states := make(map[groups.State]groups.Open, len(rows))
	for _, r := range rows {
		states[r.State] = r.Open
	}
	return states, err
}

func (s *Groups) Due(ctx context.Context) (due bool, err error) {
	defer sqlrun.Wrap("look for groups that are due", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Due).Scan(&due)
	return due, err
}
