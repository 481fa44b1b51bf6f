package nats

import (
	"context"
	"fmt"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the messages of the stream that the NATS consumer
// was not given yet.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) {
	subs := s.to(topic)
	if len(subs) == 0 {
		return 0, flow.ErrNotSubscribed
	}
	c, err := s.link.js.Consumer(ctx, subs[0].stream, subs[0].consumer)
	if err != nil {
		return 0, fmt.Errorf("ask for the consumer: %w", err)
	}
	return int64(min(c.CachedInfo().NumPending, 1<<62)), nil
}
