package sqlite

import (
	"context"
	"fmt"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
)

// instanceStore implements instance.Store.
type instanceStore struct {
	s *Store

	start, beat, end, run, list, deaths, outlive, forget string
}

func newInstances(s *Store, q queries) *instanceStore {
	return &instanceStore{
		s:       s,
		start:   q.get("instances_start"),
		beat:    q.get("instances_beat"),
		end:     q.get("instances_end"),
		run:     q.get("instances_run"),
		list:    q.get("instances_list"),
		deaths:  q.get("instances_deaths"),
		outlive: q.get("instances_outlive"),
		forget:  q.get("instances_forget"),
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
	result, err := t.ExecContext(ctx, query, args...)
	if err != nil {
		return 0, err
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, err
	}
	return int(n), s.Commit(ctx, t, nil)
}

// Start implements instance.Store.
func (i *instanceStore) Start(ctx context.Context, one instance.Instance) error {
	if err := identity(one.ID, one.Consumer); err != nil {
		return fmt.Errorf("start instance: %w", err)
	}
	if _, err := i.s.write(ctx, i.start, one.ID, one.Consumer, encode.Text(one.Host, maxName), encode.Text(one.Build, maxName)); err != nil {
		return fmt.Errorf("start instance: %w", err)
	}
	return nil
}

// Beat implements instance.Store.
func (i *instanceStore) Beat(ctx context.Context, id string) error {
	return known(i.s.write(ctx, i.beat, id))
}

// Run implements instance.Store.
func (i *instanceStore) Run(ctx context.Context, id string, m inbox.ID) error {
	return known(i.s.write(ctx, i.run, id, m.Scope, m.Key))
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
func (i *instanceStore) End(ctx context.Context, id string) error {
	if _, err := i.s.write(ctx, i.end, id); err != nil {
		return fmt.Errorf("end instance: %w", err)
	}
	return nil
}

// List implements instance.Store.
func (i *instanceStore) List(ctx context.Context, consumer string) ([]instance.Instance, error) {
	list, err := collect(ctx, i.s.read, i.list, []any{consumer}, func(row scanner) (instance.Instance, error) {
		var r instance.Instance
		err := row.Scan(&r.ID, &r.Consumer, &r.Host, &r.Build, (*micros)(&r.Started), (*micros)(&r.Beat), (*span)(&r.Age),
			(*maybe)(&r.Ended), &r.Outlived, &r.Running.Scope, &r.Running.Key, &r.Settled)
		return r, err
	})
	if err != nil {
		return nil, fmt.Errorf("list instances: %w", err)
	}
	return list, nil
}

// Deaths implements instance.Store.
func (i *instanceStore) Deaths(ctx context.Context, id, consumer string, m inbox.ID, missed time.Duration) (deaths, unsure int, err error) {
	err = i.s.read.QueryRowContext(ctx, i.deaths, id, consumer, m.Scope, m.Key, us(missed)).Scan(&deaths, &unsure)
	if err != nil {
		return 0, 0, fmt.Errorf("count deaths: %w", err)
	}
	return deaths, unsure, nil
}

// Outlive implements instance.Store.
func (i *instanceStore) Outlive(ctx context.Context, id string, missed time.Duration) error {
	if _, err := i.s.write(ctx, i.outlive, id, us(missed)); err != nil {
		return fmt.Errorf("outlive instances: %w", err)
	}
	return nil
}

// Forget implements instance.Store.
func (i *instanceStore) Forget(ctx context.Context, age time.Duration) error {
	if _, err := i.s.write(ctx, i.forget, us(age)); err != nil {
		return fmt.Errorf("forget instances: %w", err)
	}
	return nil
}

// maybe is a time that may be missing: zero for NULL.
type maybe time.Time

// Scan implements sql.Scanner.
func (m *maybe) Scan(v any) error {
	if v == nil {
		*m = maybe{}
		return nil
	}
	return (*micros)(m).Scan(v)
}
