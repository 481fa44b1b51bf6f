package postgres

import (
	"context"
	"database/sql"
	"fmt"

	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the messages in the group's queue that are not
// acknowledged, up to 100,000.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) { return s.subs.Lag(ctx, topic) }

// Lag implements flow.Reporter.
func (b *subscription) Lag(ctx context.Context) (int64, error) {
	n, err := ask(ctx, b.ask, initTime, func(ctx context.Context, conn *sql.Conn) (n int64, err error) {
		err = conn.QueryRowContext(ctx, b.all.get("lag"), b.topic, b.o.Group).Scan(&n)
		return n, err
	})
	if err != nil {
		return 0, fmt.Errorf("ask the database: %w", err)
	}
	return n, nil
}
