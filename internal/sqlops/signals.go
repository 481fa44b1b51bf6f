package sqlops

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

// Signals implements ledger.Signals.
type Signals struct {
	sqlrun.Table[struct{ Await, Expire, Waits, LockRow, LockMessage, Send, SendEarly, Due string }]
}

func (s *Signals) Await(ctx context.Context, t *txn.Txn, r ledger.Row, timeout time.Duration) (waits bool, err error) {
	defer sqlrun.Wrap("wait for a signal", &err)
	return changed(ctx, t, s.SQL.Await, r, sqlrun.Micros(timeout))
}

func (s *Signals) Expire(ctx context.Context, t *txn.Txn, r ledger.Row) (expired bool, err error) {
	defer sqlrun.Wrap("end the wait for a signal", &err)
	return changed(ctx, t, s.SQL.Expire, r)
}

func (s *Signals) Send(ctx context.Context, t *txn.Txn, r ledger.Row) (sent bool, err error) {
	defer sqlrun.Wrap("send a signal", &err)
	return changed(ctx, t, s.SQL.Send, r, r.Result, encode.Text(r.By, sqlrun.MaxName), encode.Text(r.Reason, sqlrun.MaxError))
}

func (s *Signals) SendEarly(ctx context.Context, t *txn.Txn, r ledger.Row, keep time.Duration) (sent bool, err error) {
	defer sqlrun.Wrap("send an early signal", &err)
	return changed(ctx, t, s.SQL.SendEarly, r, r.Result, encode.Text(r.By, sqlrun.MaxName), encode.Text(r.Reason, sqlrun.MaxError), sqlrun.Micros(keep))
}

func (s *Signals) Waits(ctx context.Context, q headrace.DBTX, id inbox.ID, step string) (waits bool, err error) {
	defer sqlrun.Wrap("look for a signal", &err)
	var n int
	err = q.QueryRowContext(ctx, s.SQL.Waits, id.Scope, id.Key, step).Scan(&n)
	return n > 0, err
}

func (s *Signals) Lock(ctx context.Context, t *txn.Txn, id inbox.ID) (state inbox.State, row int64, err error) {
	defer sqlrun.Wrap("lock a message", &err)
	if !encode.Clean(id.Scope + id.Key) {
		return "", 0, nil // no row has such a name
	}
	// In the order in which a run locks them.
	err = t.QueryRowContext(ctx, s.SQL.LockRow, id.Scope, id.Key).Scan(&row)
	if err != nil && !errors.Is(err, sql.ErrNoRows) {
		return "", 0, err
	}
	err = t.QueryRowContext(ctx, s.SQL.LockMessage, id.Scope, id.Key).Scan(&state)
	if errors.Is(err, sql.ErrNoRows) {
		return "", row, nil
	}
	return state, row, err
}

func (s *Signals) Due(ctx context.Context, t *txn.Txn, row int64) (err error) {
	defer sqlrun.Wrap("make a message due", &err)
	_, err = t.ExecContext(ctx, s.SQL.Due, row)
	return err
}
