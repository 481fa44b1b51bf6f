package nats

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the messages of the stream that the NATS consumer
// was not given yet.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) { return s.subs.Lag(ctx, topic) }

// Lag implements flow.Reporter.
func (b *subscription) Lag(ctx context.Context) (int64, error) {
	c, err := b.source.link.js.Consumer(ctx, b.stream, b.consumer)
	if err != nil {
		return 0, fmt.Errorf("ask for the consumer: %w", err)
	}
	return int64(min(c.CachedInfo().NumPending, 1<<62)), nil
}
