package nats

import (
	"context"
	"fmt"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the messages of the stream that the NATS consumer
// was not given yet.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) { return s.subs.Lag(ctx, topic) }

// Lag implements flow.Reporter.
func (b *subscription) Lag(ctx context.Context) (int64, error) {
	info, err := b.info(ctx)
	if err != nil {
		return 0, err
	}
	return int64(min(info.NumPending, 1<<62)), nil
}

// info asks the server for the consumer.
func (b *subscription) info(ctx context.Context) (*jetstream.ConsumerInfo, error) {
	c, err := b.source.link.js.Consumer(ctx, b.stream, b.consumer)
	if err != nil {
		return nil, fmt.Errorf("ask for the consumer: %w", err)
	}
	return c.CachedInfo(), nil
}
