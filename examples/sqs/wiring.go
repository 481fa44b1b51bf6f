package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/tests/endtoend/story"
)

// connection is the wiring: where SQS is, and the source and the sink on it.
type connection struct {
	client *awssqs.Client
	log    *slog.Logger
}

// connect makes the SDK's client. On AWS it would be sqs.NewFromConfig with what
// config.LoadDefaultConfig returns.
func connect(address string, log *slog.Logger) story.Connection {
	return connection{log: log, client: awssqs.New(awssqs.Options{
		BaseEndpoint: &address, Region: "elasticmq",
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
		}),
	})}
}

// queue is the name of a topic's queue: SQS takes no dots but that of the suffix.
func queue(topic string) string { return strings.ReplaceAll(topic, ".", "-") + ".fifo" }

// Source implements story.Connection. A queue has no groups: who reads it shares it.
func (c connection) Source(string) (message.Subscriber, error) {
	return sqs.NewSource(sqs.SourceOptions{Client: c.client, Queue: queue, WaitTime: time.Second, Logger: c.log})
}

// Sink implements story.Connection.
func (c connection) Sink() (message.Publisher, error) {
	return sqs.NewSink(sqs.SinkOptions{Client: c.client, Queue: queue})
}

// Create implements story.Connection.
func (c connection) Create(ctx context.Context, topics ...string) error {
	for _, topic := range topics {
		_, err := c.client.CreateQueue(ctx, &awssqs.CreateQueueInput{
			QueueName: aws.String(queue(topic)),
			// So long what a killed process had waits to be received again. The usual 30 s are no better here.
			Attributes: map[string]string{"FifoQueue": "true", "VisibilityTimeout": "5"},
		})
		var exists *types.QueueNameExists
		if err != nil && !errors.As(err, &exists) {
			return fmt.Errorf("create queue %q: %w", queue(topic), err)
		}
	}
	return nil
}

// Remove implements story.Connection.
func (c connection) Remove(ctx context.Context, topics ...string) error {
	for _, topic := range topics {
		var gone *types.QueueDoesNotExist
		url, err := c.url(ctx, topic)
		if err == nil {
			_, err = c.client.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: url})
		}
		if err != nil && !errors.As(err, &gone) {
			return fmt.Errorf("remove queue %q: %w", queue(topic), err)
		}
	}
	return nil
}

// url finds a topic's queue.
func (c connection) url(ctx context.Context, topic string) (*string, error) {
	ctx, cancel := context.WithTimeout(ctx, callTime)
	defer cancel()
	out, err := c.client.GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String(queue(topic))})
	if err != nil {
		return nil, fmt.Errorf("find queue %q: %w", queue(topic), err)
	}
	return out.QueueUrl, nil
}
