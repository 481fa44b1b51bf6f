package main

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/headrace/headrace/store"
)

// verify proves that each of so many messages was recorded, took effect once, and
// left an event. count is the query that tells.
func (l *lab) verify(ctx context.Context, count string, messages int) error {
	return verify(ctx, l.db, l.query(count), messages)
}

func verify(ctx context.Context, db *sql.DB, count string, messages int) error {
	var recorded, effects, orders, events int
	err := db.QueryRowContext(ctx, count).Scan(&recorded, &effects, &orders, &events)
	if err != nil {
		return fmt.Errorf("verify: %w", err)
	}
	if recorded != messages || effects != messages || orders != messages || events != messages {
		return fmt.Errorf("verify: %d messages, but %d recorded, %d effects, %d orders with an effect, %d orders with an event",
			messages, recorded, effects, orders, events)
	}
	return nil
}

// check proves that the invariants of the tables hold.
func check(ctx context.Context, st store.Checker) error {
	report, err := st.Check(ctx)
	if err != nil {
		return fmt.Errorf("check: %w", err)
	}
	for _, rule := range report.Rules {
		if rule.Violations > 0 {
			return fmt.Errorf("check: %s does not hold: %d violations, such as %s", rule.Name, rule.Violations, rule.Example)
		}
	}
	return nil
}
