package amqp

import (
	"context"

	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: the messages in the queue that no consumer holds.
func (s *Source) Lag(ctx context.Context, topic string) (n int64, err error) {
	subs := s.to(topic)
	if len(subs) == 0 {
		return 0, flow.ErrNotSubscribed
	}
	err = subs[0].question(ctx, func(ch *amqp091.Channel) error {
		q, err := ch.QueueDeclarePassive(subs[0].place.queue, true, false, false, false, nil)
		n = int64(q.Messages)
		return err
	})
	return n, err
}
