package sqlops

import (
	"context"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/store/txn"
)

// Suspect implements ledger.SuspectStore.
type Suspect struct {
	sqlrun.Table[struct{ Get, Begin, End, MarkOpen string }]
}

func (s *Suspect) Get(ctx context.Context) (m ledger.SuspectMode, err error) {
	defer sqlrun.Wrap("read suspect mode", &err)
	err = s.Reader().QueryRowContext(ctx, s.SQL.Get).Scan((*sqlrun.Instant)(&m.Until), (*sqlrun.Instant)(&m.Since), &m.By, &m.Reason)
	return m, err
}

func (s *Suspect) Begin(ctx context.Context, t *txn.Txn, m ledger.SuspectMode) (err error) {
	defer sqlrun.Wrap("begin suspect mode", &err)
	_, err = t.ExecContext(ctx, s.SQL.Begin, s.Time(m.Until), encode.Text(m.By, sqlrun.MaxName), encode.Text(m.Reason, sqlrun.MaxError))
	return err
}

func (s *Suspect) End(ctx context.Context, t *txn.Txn) (was bool, err error) {
	defer sqlrun.Wrap("end suspect mode", &err)
	n, err := sqlrun.Affected(t.ExecContext(ctx, s.SQL.End))
	return n > 0, err
}

func (s *Suspect) MarkOpen(ctx context.Context, t *txn.Txn, r ledger.Row) (marked bool, err error) {
	defer sqlrun.Wrap("mark a step as open", &err)
	return changed(ctx, t, s.SQL.MarkOpen, r, r.System, r.CallID, r.InputHash, s.Time(r.Sent), sqlrun.Micros(r.Unsettled))
}
