package sqlrequests

import (
	"context"
	"math"

	"github.com/headrace/headrace/audit"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Audit implements audit.Store.
type Audit struct {
	sqlrun.Table[struct{ Record, List, Of string }]
}

func (s *Audit) Record(ctx context.Context, t *txn.Txn, r audit.Row) (err error) {
	defer sqlrun.Wrap("record what was done", &err)
	if err := sqlrun.Identity(r.Kind, r.Subject, r.Action); err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, s.SQL.Record, sqlrun.Recorded(r)...)
	return err
}

func (s *Audit) List(ctx context.Context, f audit.Filter, before int64, limit int) (rows []audit.Row, err error) {
	defer sqlrun.Wrap("read the audit", &err)
	if before <= 0 {
		before = math.MaxInt64
	}
	query, args := s.SQL.List, []any{before, limit}
	if f.Kind != "" {
		if !encode.Clean(f.Kind + f.Subject) {
			return nil, nil // no row has such a subject
		}
		query, args = s.SQL.Of, append(args, f.Kind, f.Subject)
	}
	return sqlrun.Collect(ctx, s.Reader(), query, args, func(r *audit.Row) []any {
		return []any{&r.ID, &r.Kind, &r.Subject, &r.Action, &r.By, &r.DBUser, &r.Reason, &r.RedriveID, &r.Detail, (*sqlrun.Instant)(&r.At)}
	})
}
