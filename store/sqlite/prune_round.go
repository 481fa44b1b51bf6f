package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// Take implements inbox.Pruner.
func (p *pruneStore) Take(ctx context.Context, consumer string, lease time.Duration) (position string, due bool, err error) {
	if err := p.s.read.QueryRowContext(ctx, p.due, consumer).Scan(&due); err != nil {
		return "", false, fmt.Errorf("is pruning due: %w", err)
	}
	if !due {
		return "", false, nil
	}
	err = p.write(ctx, func(t *txn.Txn) error {
		return t.SQL().QueryRowContext(ctx, p.take, consumer, us(lease)).Scan(&position)
	})
	switch {
	case errors.Is(err, sql.ErrNoRows): // somebody was faster
		return "", false, nil
	case err != nil:
		return "", false, fmt.Errorf("begin to prune: %w", err)
	}
	return position, true, nil
}

// Keep implements inbox.Pruner.
func (p *pruneStore) Keep(ctx context.Context, consumer, position string, rest time.Duration) error {
	err := p.write(ctx, func(t *txn.Txn) error {
		_, err := t.SQL().ExecContext(ctx, p.keep, consumer, position, us(rest))
		return err
	})
	if err != nil {
		return fmt.Errorf("note how far pruning has come: %w", err)
	}
	return nil
}

// write runs f in a transaction of its own.
func (p *pruneStore) write(ctx context.Context, f func(*txn.Txn) error) error {
	t, err := p.s.Begin(ctx)
	if err != nil {
		return err
	}
	defer t.Rollback()
	if err := f(t); err != nil {
		return err
	}
	return p.s.Commit(ctx, t, nil)
}
