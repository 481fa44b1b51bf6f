package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store/txn"
)

// instanceStore implements instance.Store.
type instanceStore struct {
	s *Store

	start, beat, end, run, list, deaths, outlive, forget string
}

func newInstances(s *Store, queries map[string]string) *instanceStore {
	return &instanceStore{
		s:       s,
		start:   sqlfile.Get(queries, "instances_start"),
		beat:    sqlfile.Get(queries, "instances_beat"),
		end:     sqlfile.Get(queries, "instances_end"),
		run:     sqlfile.Get(queries, "instances_run"),
		list:    sqlfile.Get(queries, "instances_list"),
		deaths:  sqlfile.Get(queries, "instances_deaths"),
		outlive: sqlfile.Get(queries, "instances_outlive"),
		forget:  sqlfile.Get(queries, "instances_forget"),
	}
}

// write executes a statement in a transaction of its own, and returns how many rows it
// changed.
func (s *Store) write(ctx context.Context, query string, args ...any) (int, error) {
	t, err := s.Begin(ctx)
	if err != nil {
		return 0, err
	}
	defer t.Rollback()
	n, err := affected(s.plan.on(t.SQL()).ExecContext(ctx, query, args...))
	if err != nil {
		if txn.Classify(err) == txn.Connection || ctx.Err() != nil {
			t.Discard() // a rollback could hang as the statement did
		}
		return 0, err
	}
	return n, s.Commit(ctx, t, nil)
}

// Start implements instance.Store.
func (s *instanceStore) Start(ctx context.Context, i instance.Instance) error {
	if err := identity(i.ID, i.Consumer); err != nil {
		return fmt.Errorf("start instance: %w", err)
	}
	if _, err := s.s.write(ctx, s.start, i.ID, i.Consumer, encode.Text(i.Host, maxName), encode.Text(i.Build, maxName)); err != nil {
		return fmt.Errorf("start instance: %w", err)
	}
	return nil
}

// Beat implements instance.Store.
func (s *instanceStore) Beat(ctx context.Context, id string) error {
	return known(s.s.write(ctx, s.beat, id))
}

// Run implements instance.Store.
func (s *instanceStore) Run(ctx context.Context, id string, m inbox.ID) error {
	return known(s.s.write(ctx, s.run, id, m.Scope, m.Key))
}

func known(rows int, err error) error {
	if err == nil && rows == 0 {
		err = instance.ErrUnknown
	}
	if err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	return nil
}

// End implements instance.Store.
func (s *instanceStore) End(ctx context.Context, id string) error {
	if _, err := s.s.write(ctx, s.end, id); err != nil {
		return fmt.Errorf("end instance: %w", err)
	}
	return nil
}

// List implements instance.Store.
func (s *instanceStore) List(ctx context.Context, consumer string) ([]instance.Instance, error) {
	type row struct {
		instance.Instance
		age   int64
		ended sql.NullTime
	}
	rows, err := collect(ctx, s.s.plan.on(s.s.db), s.list, []any{consumer}, func(r *row) []any {
		return []any{&r.ID, &r.Consumer, &r.Host, &r.Build, &r.Started, &r.Beat, &r.age, &r.ended, &r.Outlived,
			&r.Running.Scope, &r.Running.Key, &r.Settled}
	})
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	list := make([]instance.Instance, len(rows))
	for n, r := range rows {
		r.Age, r.Ended = fromMicros(r.age), r.ended.Time
		list[n] = r.Instance
	}
	return list, nil
}

// Deaths implements instance.Store.
func (s *instanceStore) Deaths(ctx context.Context, id, consumer string, m inbox.ID, missed time.Duration) (deaths, unsure int, err error) {
	err = s.s.plan.on(s.s.db).QueryRowContext(ctx, s.deaths, id, consumer, m.Scope, m.Key, micros(missed)).Scan(&deaths, &unsure)
	if err != nil {
		return 0, 0, fmt.Errorf("count deaths: %w", err)
	}
	return deaths, unsure, nil
}

// Outlive implements instance.Store.
func (s *instanceStore) Outlive(ctx context.Context, id string, missed time.Duration) error {
	if _, err := s.s.write(ctx, s.outlive, id, micros(missed)); err != nil {
		return fmt.Errorf("outlive instances: %w", err)
	}
	return nil
}

// Forget implements instance.Store.
func (s *instanceStore) Forget(ctx context.Context, age time.Duration) error {
	if _, err := s.s.write(ctx, s.forget, micros(age)); err != nil {
		return fmt.Errorf("forget instances: %w", err)
	}
	return nil
}
