package sqlstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"
	"time"

	"github.com/headrace/headrace/backlog"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/sqlrun"
	"github.com/headrace/headrace/store/txn"
)

// Leases implements backlog.Leases.
type Leases struct {
	sqlrun.Table[struct {
		MoveToLeased, Look, Claim, Extend, Fence, GiveBack, Lost, MoveBack string

		ClaimEnded string `sql:"optional"`
	}]
}

func (s *Leases) MoveToLeased(ctx context.Context, t *txn.Txn, rows []int64) (err error) {
	defer sqlrun.Wrap("move to leased handlers", &err)
	if len(rows) == 0 {
		return nil
	}
	_, err = t.ExecContext(ctx, s.SQL.MoveToLeased, s.Many(rows)...)
	return err
}

func (s *Leases) Look(ctx context.Context, consumer, handler string) (found bool, next time.Duration, err error) {
	defer sqlrun.Wrap("look for rows to lease", &err)
	var end sql.NullInt64
	if err := s.Reader().QueryRowContext(ctx, s.SQL.Look, consumer, handler).Scan(&found, &end); err != nil {
		return false, 0, err
	}
	if found || end.Valid && end.Int64 <= 0 {
		return true, 0, nil
	}
	return false, time.Duration(end.Int64) * time.Microsecond, nil
}

func (s *Leases) Claim(ctx context.Context, t *txn.Txn, consumer, handler, token string, term time.Duration, limit int) (items []backlog.Item, err error) {
	defer sqlrun.Wrap("claim leases", &err)
	for _, query := range []string{s.SQL.ClaimEnded, s.SQL.Claim} {
		if query == "" || len(items) >= limit {
			continue
		}
		args := []any{consumer, handler, token, sqlrun.Micros(term), limit - len(items)}
		some, err := sqlrun.Collect(ctx, t, query, args, func(i *backlog.Item) []any {
			i.Consumer = consumer
			return append(itemFields(i), &i.Starts, &i.Lost)
		})
		if err != nil {
			return nil, err
		}
		items = append(items, some...)
	}
	slices.SortFunc(items, func(a, b backlog.Item) int {
		if a.Lost != b.Lost {
			if a.Lost {
				return -1
			}
			return 1
		}
		return cmp.Compare(a.Place, b.Place)
	})
	return items, nil
}

// leaseArgs returns the arguments for leases.
func (s *Leases) leaseArgs(leases []backlog.Lease) ([]any, error) {
	for _, l := range leases {
		if err := sqlrun.Identity(l.Token); err != nil {
			return nil, err
		}
	}
	return s.Many(
		sqlrun.Numbers(leases, func(l *backlog.Lease) int64 { return l.RowID }),
		sqlrun.Texts(leases, func(l *backlog.Lease) string { return l.Token })), nil
}

func (s *Leases) Extend(ctx context.Context, t *txn.Txn, leases []backlog.Lease, term time.Duration) (extended, locked []backlog.Lease, err error) {
	defer sqlrun.Wrap("extend leases", &err)
	if len(leases) == 0 {
		return nil, nil, nil
	}
	type row struct {
		backlog.Lease
		extended bool
	}
	args, err := s.leaseArgs(leases)
	if err != nil {
		return nil, nil, err
	}
	rows, err := sqlrun.Collect(ctx, t, s.SQL.Extend, append(args, sqlrun.Micros(term)), func(r *row) []any {
		return []any{&r.RowID, &r.Token, &r.extended}
	})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range rows {
		if r.extended {
			extended = append(extended, r.Lease)
		} else {
			locked = append(locked, r.Lease)
		}
	}
	return extended, locked, nil
}

func (s *Leases) Fence(ctx context.Context, t *txn.Txn, l backlog.Lease, limits txn.Limits) (held bool, err error) {
	defer sqlrun.Wrap("fence", &err)
	var settings sql.NullString
	err = t.QueryRowContext(ctx, s.SQL.Fence, l.RowID, l.Token, sqlrun.Millis(limits.Idle), sqlrun.Millis(limits.Statement)).Scan(&settings)
	if errors.Is(err, sql.ErrNoRows) {
		return false, nil
	}
	return err == nil, err
}

func (s *Leases) GiveBack(ctx context.Context, t *txn.Txn, leases []backlog.Lease) (err error) {
	defer sqlrun.Wrap("give leases back", &err)
	if len(leases) == 0 {
		return nil
	}
	args, err := s.leaseArgs(leases)
	if err != nil {
		return err
	}
	_, err = t.ExecContext(ctx, s.SQL.GiveBack, args...)
	return err
}

func (s *Leases) Lost(ctx context.Context, t *txn.Txn, id inbox.ID, spent int) (n int, err error) {
	defer sqlrun.Wrap("count lost leases", &err)
	err = t.QueryRowContext(ctx, s.SQL.Lost, id.Scope, id.Key, spent).Scan(&n)
	return n, err
}

func (s *Leases) MoveBack(ctx context.Context, t *txn.Txn, consumer, handler string, limit int) (n int, err error) {
	defer sqlrun.Wrap("move back from leased handlers", &err)
	return makeReady(ctx, s, t, limit, s.SQL.MoveBack, consumer, handler, limit)
}
