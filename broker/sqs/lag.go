package sqs

import (
	"context"
	"fmt"
	"strconv"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

var _ consumer.LagReporter = (*Source)(nil)

// Lag implements consumer.LagReporter: about how many messages of the queue are neither
// delayed nor held by a consumer.
func (s *Source) Lag(ctx context.Context, topic string) (int64, error) {
	subs := s.to(topic)
	if len(subs) == 0 {
		return 0, flow.ErrNotSubscribed
	}
	const waiting = types.QueueAttributeNameApproximateNumberOfMessages
	out, err := s.o.Client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: &subs[0].l.url, AttributeNames: []types.QueueAttributeName{waiting},
	})
	if err != nil {
		return 0, fmt.Errorf("ask SQS for the queue: %s", code(err))
	}
	n, err := strconv.ParseInt(out.Attributes[string(waiting)], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("attribute %s of the queue: %w", waiting, err)
	}
	return n, nil
}
