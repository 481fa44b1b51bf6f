package sqlite

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
)

// pauseStore implements instance.Pauses.
type pauseStore struct {
	s *Store

	pause, resume, get, list string
}

func newPauses(s *Store, q queries) *pauseStore {
	return &pauseStore{s: s, pause: q.get("pauses_pause"), resume: q.get("pauses_resume"), get: q.get("pauses_get"), list: q.get("pauses_list")}
}

// Pause implements instance.Pauses.
func (p *pauseStore) Pause(ctx context.Context, one instance.Pause) (bool, error) {
	err := instance.CheckConsumer(one.Consumer)
	if err == nil {
		err = identity(one.Consumer)
	}
	if err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	n, err := p.s.write(ctx, p.pause, one.Consumer, encode.Text(one.By, maxName), encode.Text(one.Reason, maxError))
	if err != nil {
		return false, fmt.Errorf("pause: %w", err)
	}
	return n > 0, nil
}

// Resume implements instance.Pauses.
func (p *pauseStore) Resume(ctx context.Context, consumer, by string) (bool, error) {
	if !encode.Clean(consumer) {
		return false, nil // no row has such a name
	}
	n, err := p.s.write(ctx, p.resume, consumer, encode.Text(by, maxName))
	if err != nil {
		return false, fmt.Errorf("resume: %w", err)
	}
	return n > 0, nil
}

// Get implements instance.Pauses.
func (p *pauseStore) Get(ctx context.Context, consumer string) (instance.Pause, error) {
	list, err := p.read(ctx, p.get, consumer)
	if err != nil || len(list) == 0 {
		return instance.Pause{}, err
	}
	return list[0], nil
}

// List implements instance.Pauses.
func (p *pauseStore) List(ctx context.Context) ([]instance.Pause, error) {
	return p.read(ctx, p.list)
}

func (p *pauseStore) read(ctx context.Context, query string, args ...any) ([]instance.Pause, error) {
	list, err := collect(ctx, p.s.read, query, args, func(row scanner) (instance.Pause, error) {
		var one instance.Pause
		err := row.Scan(&one.Consumer, &one.By, &one.Reason, (*micros)(&one.At), &one.ResumedBy, (*maybe)(&one.Resumed))
		return one, err
	})
	if err != nil {
		return nil, fmt.Errorf("read pauses: %w", err)
	}
	return list, nil
}
