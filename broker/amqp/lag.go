package amqp

import (
	"context"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the messages in the queue that no consumer holds.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) { return s.subs.Lag(ctx, topic) }

// Lag implements flow.Reporter.
func (s *subscription) Lag(ctx context.Context) (n int64, err error) {
	err = s.source.link.question(ctx, func(ch *amqp091.Channel) error {
		n, err = s.source.o.look(ch, s.place)
		return err
	})
	return n, err
}
