package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
)

// Check implements store.Checker. It reads whole tables.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return store.Report{}, fmt.Errorf("check: begin: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	var report store.Report
	for _, name := range slices.Sorted(maps.Keys(s.checks)) {
		rule := store.RuleResult{Name: name, Says: sqlfile.Says(s.checks[name])}
		if err := s.plan.on(tx).QueryRowContext(ctx, s.checks[name]).Scan(&rule.Violations, &rule.Example); err != nil {
			return store.Report{}, fmt.Errorf("check %s: %w", name, err)
		}
		report.Rules = append(report.Rules, rule)
	}
	return report, nil
}
