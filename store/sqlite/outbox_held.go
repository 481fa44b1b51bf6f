package sqlite

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/outbox"
	"github.com/headrace/headrace/store/txn"
)

// ReadHeld implements outbox.Store.
func (o *outboxStore) ReadHeld(ctx context.Context, t *txn.Txn, shard int, limit int) ([]outbox.HeldRow, error) {
	return readHeldRows(ctx, t, shard, o.readHeld, shard, limit)
}

func readHeldRows(ctx context.Context, t *txn.Txn, shard int, query string, args ...any) ([]outbox.HeldRow, error) {
	rows, err := collect(ctx, t, query, args, func(row scanner) (outbox.HeldRow, error) {
		h := outbox.HeldRow{Row: outbox.Row{Shard: shard}}
		err := scanRow(row, &h.Row, &h.Attempts, &h.Reason, (*span)(&h.DueIn), &h.Error)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("read held events: %w", err)
	}
	return rows, nil
}

// Blocked implements outbox.Store.
func (o *outboxStore) Blocked(ctx context.Context, t *txn.Txn, shard int) ([]outbox.Block, error) {
	blocks, err := collect(ctx, t, o.blocked, []any{shard}, func(row scanner) (outbox.Block, error) {
		var b outbox.Block
		err := row.Scan(&b.Topic, &b.Key, &b.First)
		return b, err
	})
	if err != nil {
		return nil, fmt.Errorf("read blocked orders: %w", err)
	}
	return blocks, nil
}

// Hold implements outbox.Store.
func (o *outboxStore) Hold(ctx context.Context, t *txn.Txn, holds []outbox.Hold) error {
	for _, h := range holds {
		if err := o.holdOne(ctx, t, h); err != nil {
			return fmt.Errorf("hold events: %w", err)
		}
	}
	return nil
}

func (o *outboxStore) holdOne(ctx context.Context, t *txn.Txn, h outbox.Hold) error {
	args := []any{h.Row.Shard, h.Row.RowID, string(h.Reason), us(h.Delay), h.Attempts, encode.Text(h.Error, maxError)}
	changed, err := t.ExecContext(ctx, o.holdChange, args...)
	if err != nil {
		return err
	}
	if n, err := changed.RowsAffected(); err != nil || n > 0 {
		return err
	}
	if _, err := t.ExecContext(ctx, o.hold, args...); err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, o.holdTake, h.Row.Shard, h.Row.RowID)
	return err
}

// Status implements outbox.Admin.
func (o *outboxStore) Status(ctx context.Context) (outbox.Status, error) {
	var s outbox.Status
	err := o.s.read.QueryRowContext(ctx, o.status).Scan(&s.Ready, &s.Delayed, &s.Parked, &s.Behind, (*span)(&s.Oldest))
	if err != nil {
		return s, fmt.Errorf("count the outbox: %w", err)
	}
	return s, nil
}

// Parked implements outbox.Admin.
func (o *outboxStore) Parked(ctx context.Context, after int64, limit int) ([]outbox.HeldRow, error) {
	rows, err := collect(ctx, o.s.read, o.parked, []any{after, limit}, func(row scanner) (outbox.HeldRow, error) {
		h := outbox.HeldRow{Reason: outbox.Parked}
		err := scanRow(row, &h.Row, &h.Attempts, &h.Error, &h.Shard)
		return h, err
	})
	if err != nil {
		return nil, fmt.Errorf("read parked events: %w", err)
	}
	return rows, nil
}

// Unpark implements outbox.Admin.
func (o *outboxStore) Unpark(ctx context.Context, rows []int64) (int, error) {
	t, err := o.s.Begin(ctx)
	if err != nil {
		return 0, fmt.Errorf("unpark: %w", err)
	}
	defer t.Rollback()
	result, err := t.ExecContext(ctx, o.unpark, rowIDs(rows))
	if err != nil {
		return 0, fmt.Errorf("unpark: %w", err)
	}
	n, err := result.RowsAffected()
	if err != nil {
		return 0, fmt.Errorf("unpark: %w", err)
	}
	if err := o.s.Commit(ctx, t, nil); err != nil {
		return 0, fmt.Errorf("unpark: %w", err)
	}
	if n > 0 {
		o.signal.Wake()
	}
	return int(n), nil
}

// Signal implements outbox.Admin.
func (o *outboxStore) Signal() *outbox.Signal { return o.signal }
