package sqlops

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/ledger"
)

// Memos implements ledger.Memos.
type Memos struct {
	sqlrun.Table[struct{ Look, Take, Adopt, Put, Get, Release string }]
}

func (s *Memos) Take(ctx context.Context, m ledger.Memo, term time.Duration) (state ledger.MemoState, left time.Duration, err error) {
	defer sqlrun.Wrap("take a shared call", &err)
	for range 2 { // the second time after another one's take or result
		var known bool
		err = s.Reader().QueryRowContext(ctx, s.SQL.Look, m.System, m.Name, m.Input, m.Token).Scan(&known, (*sqlrun.Span)(&left))
		switch {
		case err == nil && known:
			return ledger.MemoKnown, 0, nil
		case err == nil:
			return ledger.MemoBusy, left, nil
		case !errors.Is(err, sql.ErrNoRows):
			return 0, 0, err
		}
		n, err := s.CommitOne(ctx, s.SQL.Take, m.System, m.Name, m.Input, m.Token, sqlrun.Micros(term))
		if n > 0 || err != nil {
			return ledger.MemoTaken, 0, err
		}
	}
	return ledger.MemoBusy, 0, nil
}

func (s *Memos) Adopt(ctx context.Context, m ledger.Memo, l backlog.Lease, r ledger.Row) (did bool, err error) {
	defer sqlrun.Wrap("adopt a shared result", &err)
	return committed(ctx, s, s.SQL.Adopt, r, m.System, m.Name, m.Input, r.CallID, l.RowID, l.Token)
}

func (s *Memos) Put(ctx context.Context, m ledger.Memo, result []byte, keep time.Duration) (recorded []byte, err error) {
	defer sqlrun.Wrap("share a result", &err)
	n, err := s.CommitOne(ctx, s.SQL.Put, m.System, m.Name, m.Input, result, sqlrun.Micros(keep))
	if err != nil {
		return nil, err
	}
	if n == 0 {
		err = s.Reader().QueryRowContext(ctx, s.SQL.Get, m.System, m.Name, m.Input).Scan((*sqlrun.Blob)(&recorded))
		if !errors.Is(err, sql.ErrNoRows) { // otherwise its time was over meanwhile
			return recorded, err
		}
	}
	return result, nil
}

func (s *Memos) Release(ctx context.Context, m ledger.Memo) (err error) {
	defer sqlrun.Wrap("release a shared call", &err)
	_, err = s.CommitOne(ctx, s.SQL.Release, m.System, m.Name, m.Input, m.Token)
	return err
}
