package sqlite

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/store/txn"
)

// List implements dlq.Store.
func (s *letterStore) List(ctx context.Context, f dlq.Filter, before int64, limit int) ([]dlq.Letter, error) {
	letters, err := collect(ctx, s.s.read, s.list, append(filterArgs(f), before, limit), readLetter)
	if err != nil {
		return nil, fmt.Errorf("list letters: %w", err)
	}
	return letters, nil
}

// Groups implements dlq.Store.
func (s *letterStore) Groups(ctx context.Context, f dlq.Filter) (groups []dlq.Group, err error) {
	args := filterArgs(f)
	if f.WholeGroups() {
		const consumer, handler, class, print = 2, 3, 5, 6 // where filterArgs has them
		groups, err = s.readGroups(ctx, s.groupsOpen, []any{args[consumer], args[handler], args[class], args[print], dlq.MaxWholeGroups})
	}
	if err == nil && (!f.WholeGroups() || len(groups) == dlq.MaxWholeGroups) {
		groups, err = s.readGroups(ctx, s.groups, args)
	}
	if err != nil {
		return nil, fmt.Errorf("group letters: %w", err)
	}
	return groups, nil
}

func (s *letterStore) readGroups(ctx context.Context, query string, args []any) ([]dlq.Group, error) {
	return collect(ctx, s.s.read, query, args, func(row scanner) (dlq.Group, error) {
		var g dlq.Group
		err := row.Scan(&g.ErrorPrint, &g.Consumer, &g.Handler, &g.Class, &g.Count, (*micros)(&g.First), (*micros)(&g.Last),
			&g.Sample, &g.SampleID)
		return g, err
	})
}

// Count implements dlq.Store.
func (s *letterStore) Count(ctx context.Context, f dlq.Filter) (int64, error) {
	var n int64
	if err := s.s.read.QueryRowContext(ctx, s.count, filterArgs(f)...).Scan(&n); err != nil {
		return 0, fmt.Errorf("count letters: %w", err)
	}
	return n, nil
}

// Record implements dlq.Store.
func (s *letterStore) Record(ctx context.Context, t *txn.Txn, rows []dlq.Audit) error {
	if len(rows) == 0 {
		return nil
	}
	records := make([][5]any, len(rows))
	for n, a := range rows {
		records[n] = [5]any{a.LetterID, a.Action, encode.Text(a.By, maxName), encode.Text(a.Reason, maxError), encode.Text(a.NewKey, maxName)}
	}
	all, err := list(records)
	if err != nil {
		return err
	}
	if _, err := t.ExecContext(ctx, s.record, all); err != nil {
		return fmt.Errorf("record: %w", err)
	}
	return nil
}

// Trail implements dlq.Store.
func (s *letterStore) Trail(ctx context.Context, id int64) ([]dlq.Audit, error) {
	trail, err := collect(ctx, s.s.read, s.trail, []any{id}, func(row scanner) (dlq.Audit, error) {
		var a dlq.Audit
		err := row.Scan(&a.LetterID, &a.Action, &a.By, &a.Reason, &a.NewKey, (*micros)(&a.At))
		return a, err
	})
	if err != nil {
		return nil, fmt.Errorf("read the trail of letter %d: %w", id, err)
	}
	return trail, nil
}
