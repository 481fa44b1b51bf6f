package sqlops

import (
	"context"
	"encoding/hex"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/ledger"
)

const (
	// mostTogether is how many marks, or results, share a commit.
	mostTogether = 64
	// bigResult is the size from which on a result, in bytes, has a commit of its own.
	bigResult = 16 << 10
)

// mark is a first call that begins under a lease.
type mark struct {
	ledger.Row
	lease backlog.Lease
}

func (s *Steps) Mark(ctx context.Context, l backlog.Lease, r ledger.Row) (did bool, err error) {
	defer sqlrun.Wrap("mark a step", &err)
	if err := sqlrun.Identity(r.ID.Scope, r.ID.Key, r.Step); err != nil {
		return false, err
	}
	return s.marks.Do(ctx, mark{r, l})
}

func (s *Steps) markOne(ctx context.Context, m mark) (bool, error) {
	return committed(ctx, s, s.SQL.Mark, m.Row, m.System, m.CallID, m.InputHash, s.Time(m.Sent), m.lease.RowID, m.lease.Token, sqlrun.Micros(m.Unsettled))
}

func (s *Steps) markAll(ctx context.Context, all []mark) (bool, error) {
	n, err := s.CommitOne(ctx, s.SQL.MarkAll, s.Many(
		sqlrun.Texts(all, func(m *mark) string { return m.ID.Scope }),
		sqlrun.Texts(all, func(m *mark) string { return m.ID.Key }),
		sqlrun.Texts(all, func(m *mark) string { return m.Step }),
		sqlrun.Texts(all, func(m *mark) string { return m.System }),
		sqlrun.Texts(all, func(m *mark) string { return m.CallID }),
		sqlrun.Texts(all, func(m *mark) string { return m.InputHash }),
		sqlrun.Numbers(all, func(m *mark) int64 {
			if m.Sent.IsZero() {
				return 0
			}
			return m.Sent.UnixMicro()
		}),
		sqlrun.Numbers(all, func(m *mark) int64 { return m.lease.RowID }),
		sqlrun.Texts(all, func(m *mark) string { return m.lease.Token }),
		sqlrun.Numbers(all, func(m *mark) int64 { return sqlrun.Micros(m.Unsettled) }),
	)...)
	return n == len(all), err
}

func (s *Steps) RecordDone(ctx context.Context, r ledger.Row) (did bool, err error) {
	defer sqlrun.Wrap("record a result", &err)
	if err := sqlrun.Identity(r.ID.Scope, r.ID.Key, r.Step); err != nil {
		return false, err
	}
	r.ExternalID, r.Error = encode.Text(r.ExternalID, maxExternalID), encode.Text(r.Error, sqlrun.MaxError)
	if len(r.Result) >= bigResult {
		return s.recordOne(ctx, r)
	}
	return s.results.Do(ctx, r)
}

func (s *Steps) recordOne(ctx context.Context, r ledger.Row) (bool, error) {
	return committed(ctx, s, s.SQL.RecordDone, r, r.CallID, r.Generation, result(r), r.ExternalID, r.Via, r.Error)
}

func (s *Steps) recordAll(ctx context.Context, all []ledger.Row) (bool, error) {
	n, err := s.CommitOne(ctx, s.SQL.RecordAll, s.Many(
		sqlrun.Texts(all, func(r *ledger.Row) string { return r.ID.Scope }),
		sqlrun.Texts(all, func(r *ledger.Row) string { return r.ID.Key }),
		sqlrun.Texts(all, func(r *ledger.Row) string { return r.Step }),
		sqlrun.Texts(all, func(r *ledger.Row) string { return r.CallID }),
		sqlrun.Numbers(all, func(r *ledger.Row) int64 { return int64(r.Generation) }),
		sqlrun.Texts(all, func(r *ledger.Row) string { // no database's JSON has bytes
			if r.Result == nil {
				return ""
			}
			return "x" + hex.EncodeToString(r.Result)
		}),
		sqlrun.Texts(all, func(r *ledger.Row) string { return r.ExternalID }),
		sqlrun.Texts(all, func(r *ledger.Row) string { return string(r.Via) }),
		sqlrun.Texts(all, func(r *ledger.Row) string { return r.Error }),
	)...)
	return n == len(all), err
}
