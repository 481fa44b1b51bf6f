package sqs

import (
	"context"
	"fmt"
	"strconv"

	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: about how many messages of the queue are neither
// delayed nor held by a consumer.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) { return s.subs.Lag(ctx, topic) }

// Lag implements flow.Reporter.
func (u *subscription) Lag(ctx context.Context) (int64, error) {
	const waiting = types.QueueAttributeNameApproximateNumberOfMessages
	text, err := attribute(ctx, u.s.o.Client, u.l.queue, waiting)
	if err != nil {
		return 0, fmt.Errorf("cannot ask SQS for the queue: %s", code(err))
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0, fmt.Errorf("attribute %s of the queue: %w", waiting, err)
	}
	return n, nil
}
