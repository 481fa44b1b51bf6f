package sqlite

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/sqlfile"
	"github.com/headrace/headrace/store"
)

// readOnly makes BeginTx take a snapshot.
var readOnly = &sql.TxOptions{ReadOnly: true}

// check is a rule with the query that finds who breaks it.
type check struct{ name, query string }

func loadChecks() ([]check, error) {
	rules, err := sqlfile.Load(files, "checks", schema)
	if err != nil {
		return nil, err
	}
	var all []check
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		all = append(all, check{name, rules[name]})
	}
	return all, nil
}

// Check implements store.Checker. It keeps no writer waiting; the file's log cannot
// be taken back into the file while it runs.
func (s *Store) Check(ctx context.Context) (store.Report, error) {
	tx, err := s.read.BeginTx(ctx, readOnly)
	if err != nil {
		return store.Report{}, fmt.Errorf("check: %w", err)
	}
	defer func() { _ = tx.Rollback() }()
	var report store.Report
	for _, rule := range s.checks {
		r := store.RuleResult{Name: rule.name, Says: sqlfile.Says(rule.query)}
		if err := tx.QueryRowContext(ctx, rule.query).Scan(&r.Violations, &r.Example); err != nil {
			return store.Report{}, fmt.Errorf("check %s: %w", rule.name, err)
		}
		report.Rules = append(report.Rules, r)
	}
	return report, nil
}
