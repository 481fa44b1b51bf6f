package main

import (
	"context"
	"log/slog"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/headrace/headrace/broker/sqs"
)

var sqsKind = brokerKind{
	name: "sqs", service: "sqs", variable: "HEADRACE_TEST_SQS",
	connect: func(address string) brokerFixture {
		return &sqsFixture{client: awssqs.New(awssqs.Options{
			BaseEndpoint: &address, Region: "elasticmq",
			Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
				return aws.Credentials{AccessKeyID: "any", SecretAccessKey: "any"}, nil
			}),
		})}
	},
}

// sqsFixture has standard queues of ElasticMQ, in memory: what it tells is what our side does,
// and not what SQS would.
type sqsFixture struct {
	client *awssqs.Client
	before *string // the URL of the queue before, with messages that are not needed
}

func (r *sqsFixture) create(ctx context.Context, topic string) error {
	if r.before != nil {
		if _, err := r.client.DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: r.before}); err != nil {
			return err
		}
	}
	out, err := r.client.CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &topic})
	if err == nil {
		r.before = out.QueueUrl
	}
	return err
}

func (r *sqsFixture) sink() (message.Publisher, error) {
	return sqs.NewSink(sqs.SinkOptions{Client: r.client})
}

func (r *sqsFixture) source(inFlight int) (message.Subscriber, error) {
	return sqs.NewSource(sqs.SourceOptions{Client: r.client, InFlight: inFlight, Logger: slog.New(slog.DiscardHandler)})
}
