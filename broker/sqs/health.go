package sqs

import (
	"context"
	"errors"
	"fmt"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
)

// Healthy implements consumer.HealthReporter: SQS must answer receive calls and take
// settlements. If it has answered none in the last two seconds, as while a call waits for a
// message, it is asked for an attribute of the queue.
func (s *Source) Healthy(ctx context.Context, topic string) error { return s.subs.Healthy(ctx, topic) }

// Healthy implements flow.Reporter.
func (u *subscription) Healthy(ctx context.Context) error {
	for _, o := range []*flow.Outage{u.flight.deletes.Trouble, u.flight.returns.Trouble, u.flight.beats} {
		if err := o.Err(); err != nil {
			return err
		}
	}
	select {
	case <-u.gate.Paused(): // nothing is received, so nothing else says that SQS is there again
		return u.ask(ctx)
	default:
		return u.health.Err(ctx, u.ask)
	}
}

func (u *subscription) ask(ctx context.Context) error {
	_, err := u.attribute(ctx, types.QueueAttributeNameQueueArn)
	return err
}

// attribute asks SQS for an attribute of the queue.
func (u *subscription) attribute(ctx context.Context, name types.QueueAttributeName) (string, error) {
	out, err := u.s.o.Client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: &u.l.url, AttributeNames: []types.QueueAttributeName{name},
	})
	if err != nil {
		return "", fmt.Errorf("cannot ask SQS for the queue: %s", code(err))
	}
	return out.Attributes[string(name)], nil
}

// reach adds to err what to check if SQS did not answer; then, and if SQS says that it
// cannot serve, it matches consumer.ErrUnavailable.
func reach(err error) error {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer {
		return fmt.Errorf("%w: %w", consumer.ErrUnavailable, err)
	}
	return flow.Reach(err, "SourceOptions.Client")
}
