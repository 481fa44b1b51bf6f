package sqlops

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store"
)

// Schedules implements store.Schedules.
type Schedules struct {
	sqlrun.Table[struct {
		Declare, Get, List, Seen, Fire, Checked string
		Record                                  string `sql:"audit_record"`
	}]
}

// seenEvery is how often a process notes that it makes ticks.
const seenEvery = 30 * time.Second

func (s *Schedules) Declare(ctx context.Context, one store.Schedule) (row store.Schedule, err error) {
	defer sqlrun.Wrap("declare a schedule", &err)
	if err := sqlrun.Identity(one.Name, one.Cron, one.Zone); err != nil {
		return row, err
	}
	if _, err := s.Write(ctx, s.SQL.Declare, one.Name, one.Cron, one.Zone, sqlrun.Micros(one.Within)); err != nil {
		return row, err
	}
	row, found, err := s.get(ctx, one.Name)
	if err == nil && !found {
		err = fmt.Errorf("schedule %q is gone", one.Name)
	}
	return row, err
}

func (s *Schedules) Beat(ctx context.Context, one store.Schedule) (row store.Schedule, err error) {
	defer sqlrun.Wrap("read a schedule", &err)
	row, found, err := s.get(ctx, one.Name)
	if err != nil || !found || row.Cron != one.Cron || row.Zone != one.Zone || row.Now.Sub(row.Seen) < seenEvery {
		return row, err
	}
	_, err = s.Write(ctx, s.SQL.Seen, one.Name, one.Cron, one.Zone)
	return row, err
}

func (s *Schedules) Fire(ctx context.Context, name, by string, last time.Time) (fired bool, err error) {
	defer sqlrun.Wrap("fire a schedule", &err)
	if !encode.Clean(name) {
		return false, nil // no row has such a name
	}
	by = encode.Text(by, sqlrun.MaxName)
	return s.WriteRecorded(ctx, s.SQL.Fire, []any{name, by, s.Time(last)}, s.SQL.Record, audit.Schedule, name, "fire", by, "", 0, "")
}

func (s *Schedules) Compared(ctx context.Context, q headrace.DBTX, name string, c store.Comparison) (err error) {
	defer sqlrun.Wrap("note how far was compared", &err)
	_, err = q.ExecContext(ctx, s.SQL.Checked, name, s.Time(c.To), c.Missing, s.Time(c.GapFrom), s.Time(c.GapTo))
	return err
}

func (s *Schedules) Get(ctx context.Context, name string) (row store.Schedule, found bool, err error) {
	defer sqlrun.Wrap("read a schedule", &err)
	if !encode.Clean(name) {
		return row, false, nil // no row has such a name
	}
	return s.get(ctx, name)
}

func (s *Schedules) List(ctx context.Context) (list []store.Schedule, err error) {
	defer sqlrun.Wrap("list schedules", &err)
	return sqlrun.Collect(ctx, s.Reader(), s.SQL.List, nil, scheduleFields)
}

func (s *Schedules) get(ctx context.Context, name string) (store.Schedule, bool, error) {
	rows, err := sqlrun.Collect(ctx, s.Reader(), s.SQL.Get, []any{name}, scheduleFields)
	if err != nil || len(rows) == 0 {
		return store.Schedule{}, false, err
	}
	return rows[0], true, nil
}

func scheduleFields(r *store.Schedule) []any {
	return []any{
		&r.Name, &r.Cron, &r.Zone, (*sqlrun.Span)(&r.Within), (*sqlrun.Instant)(&r.Since), (*sqlrun.Instant)(&r.Seen), (*sqlrun.Instant)(&r.Fired), &r.FiredBy,
		(*sqlrun.Instant)(&r.Checked), &r.Missing, (*sqlrun.Instant)(&r.GapFrom), (*sqlrun.Instant)(&r.GapTo), (*sqlrun.Instant)(&r.Now),
	}
}
