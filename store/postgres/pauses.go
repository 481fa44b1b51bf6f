package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlfile"
)

// pauseStore implements instance.Pauses.
type pauseStore struct {
	s *Store

	pause, resume, get, list string
}

func newPauses(s *Store, queries map[string]string) *pauseStore {
	return &pauseStore{
		s:      s,
		pause:  sqlfile.Get(queries, "pauses_pause"),
		resume: sqlfile.Get(queries, "pauses_resume"),
		get:    sqlfile.Get(queries, "pauses_get"),
		list:   sqlfile.Get(queries, "pauses_list"),
	}
}

// Pause implements instance.Pauses.
func (s *pauseStore) Pause(ctx context.Context, p instance.Pause) (bool, error) {
	err := instance.CheckConsumer(p.Consumer)
	if err == nil {
		err = identity(p.Consumer)
	}
	if err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	n, err := s.s.write(ctx, s.pause, p.Consumer, encode.Text(p.By, maxName), encode.Text(p.Reason, maxError))
	if err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	return n > 0, nil
}

// Resume implements instance.Pauses.
func (s *pauseStore) Resume(ctx context.Context, consumer, by string) (bool, error) {
	if !encode.Clean(consumer) {
		return false, nil // no row has such a name
	}
	n, err := s.s.write(ctx, s.resume, consumer, encode.Text(by, maxName))
	if err != nil {
		return false, fmt.Errorf("resume: %w", err)
	}
	return n > 0, nil
}

// Get implements instance.Pauses.
func (s *pauseStore) Get(ctx context.Context, consumer string) (instance.Pause, error) {
	list, err := s.read(ctx, s.get, consumer)
	if err != nil || len(list) == 0 {
		return instance.Pause{}, err
	}
	return list[0], nil
}

// List implements instance.Pauses.
func (s *pauseStore) List(ctx context.Context) ([]instance.Pause, error) {
	return s.read(ctx, s.list)
}

func (s *pauseStore) read(ctx context.Context, query string, args ...any) ([]instance.Pause, error) {
	type row struct {
		instance.Pause
		resumed sql.NullTime
	}
	rows, err := collect(ctx, s.s.plan.on(s.s.db), query, args, func(r *row) []any {
		return []any{&r.Consumer, &r.By, &r.Reason, &r.At, &r.ResumedBy, &r.resumed}
	})
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	list := make([]instance.Pause, len(rows))
	for n, r := range rows {
		r.Resumed = r.resumed.Time
		list[n] = r.Pause
	}
	return list, nil
}
