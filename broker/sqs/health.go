package sqs

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox/relay"
)

var (
	_ relay.HealthReporter = (*Sink)(nil)
	_ relay.HealthReporter = (*TopicSink)(nil)
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
	if _, err := attribute(ctx, u.s.o.Client, u.l.queue, types.QueueAttributeNameQueueArn); err != nil {
		return fmt.Errorf("cannot ask SQS for the queue: %s", code(err))
	}
	return nil
}

// attribute asks SQS for an attribute of the queue; "" if it has none.
func attribute(ctx context.Context, c Client, q queue, name types.QueueAttributeName) (string, error) {
	out, err := c.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{name}})
	if err != nil {
		return "", err
	}
	return out.Attributes[string(name)], nil
}

// Healthy implements relay.HealthReporter: SQS must answer. It is asked for a queue that the
// sink has found, and before that for one named headrace, which need not exist.
func (s *Sink) Healthy(ctx context.Context) error {
	s.mu.Lock()
	var known queue
	for _, t := range s.queues {
		known = t.queue
		break
	}
	s.mu.Unlock()
	var err error
	if known.url != "" {
		_, err = attribute(ctx, s.o.Client, known, types.QueueAttributeNameQueueArn)
	} else {
		_, err = s.o.Client.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String("headrace")})
	}
	return unanswered("SQS", err)
}

// Healthy implements relay.HealthReporter: SNS must answer. A client without the method
// ListTopics of *sns.Client cannot be asked, and is healthy.
func (s *TopicSink) Healthy(ctx context.Context) error {
	c, ok := s.o.Client.(interface {
		ListTopics(context.Context, *sns.ListTopicsInput, ...func(*sns.Options)) (*sns.ListTopicsOutput, error)
	})
	if !ok {
		return nil
	}
	_, err := c.ListTopics(ctx, &sns.ListTopicsInput{})
	return unanswered("SNS", err)
}

// unanswered returns err unless it is the answer of a service that is there: a queue is
// missing, the credentials lack the right to ask, or there are too many requests.
func unanswered(service string, err error) error {
	var api smithy.APIError
	if errors.As(err, &api) {
		for _, there := range []string{"AccessDenied", "AuthorizationError", "Throttl"} {
			if strings.Contains(api.ErrorCode(), there) {
				return nil
			}
		}
	}
	if err == nil || missing(err) {
		return nil
	}
	return fmt.Errorf("%s does not answer as it should: %s", service, code(err))
}

// reach adds to err what to check if SQS did not answer; then, and if SQS says that it
// cannot serve now, it matches consumer.ErrUnavailable. A proxy before SQS answers so without
// the words of an API.
func reach(err error) error {
	var api smithy.APIError
	var answer *smithyhttp.ResponseError
	if errors.As(err, &api) && api.ErrorFault() == smithy.FaultServer ||
		errors.As(err, &answer) && (answer.HTTPStatusCode() >= 500 || answer.HTTPStatusCode() == http.StatusTooManyRequests) {
		return fmt.Errorf("%w: %w", consumer.ErrUnavailable, err)
	}
	return flow.Reach(err, "SourceOptions.Client")
}
