package sqs

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
)

// Client is the part of SQS that a source and a sink need. The AWS SDK's *sqs.Client
// implements it; its region, credentials and retries are the caller's.
type Client interface {
	// GetQueueUrl finds a queue by its name.
	GetQueueUrl(context.Context, *awssqs.GetQueueUrlInput, ...func(*awssqs.Options)) (*awssqs.GetQueueUrlOutput, error)
	// GetQueueAttributes returns a queue's limits.
	GetQueueAttributes(context.Context, *awssqs.GetQueueAttributesInput, ...func(*awssqs.Options)) (*awssqs.GetQueueAttributesOutput, error)
	// ReceiveMessage receives up to ten messages.
	ReceiveMessage(context.Context, *awssqs.ReceiveMessageInput, ...func(*awssqs.Options)) (*awssqs.ReceiveMessageOutput, error)
	// DeleteMessageBatch deletes up to ten.
	DeleteMessageBatch(context.Context, *awssqs.DeleteMessageBatchInput, ...func(*awssqs.Options)) (*awssqs.DeleteMessageBatchOutput, error)
	// ChangeMessageVisibilityBatch sets for up to ten when each may be received again.
	ChangeMessageVisibilityBatch(context.Context, *awssqs.ChangeMessageVisibilityBatchInput, ...func(*awssqs.Options)) (*awssqs.ChangeMessageVisibilityBatchOutput, error)
	// SendMessageBatch sends up to ten.
	SendMessageBatch(context.Context, *awssqs.SendMessageBatchInput, ...func(*awssqs.Options)) (*awssqs.SendMessageBatchOutput, error)
}

var _ Client = (*awssqs.Client)(nil)

// queue is the queue of a topic.
type queue struct {
	url  string
	name string
}

// fifo reports whether the queue keeps the order of each message group. SQS requires the
// suffix for such queues, and rejects it for others.
func (q queue) fifo() bool { return strings.HasSuffix(q.name, fifoSuffix) }

const fifoSuffix = ".fifo"

// resolve finds the queue by named: its name, URL or ARN.
func resolve(ctx context.Context, c Client, named string) (queue, error) {
	if strings.HasPrefix(named, "https://") || strings.HasPrefix(named, "http://") {
		return queue{url: named, name: named[strings.LastIndexByte(named, '/')+1:]}, nil
	}
	in := &awssqs.GetQueueUrlInput{QueueName: &named}
	if arn := strings.Split(named, ":"); len(arn) == 6 && arn[0] == "arn" && arn[2] == "sqs" {
		in.QueueName, in.QueueOwnerAWSAccountId = &arn[5], &arn[4]
	}
	out, err := c.GetQueueUrl(ctx, in)
	if err != nil {
		if missing(err) {
			return queue{}, fmt.Errorf("queue %q does not exist, and no source or sink creates one: %w", named, err)
		}
		return queue{}, fmt.Errorf("find queue %q: %w", named, err)
	}
	return queue{url: aws.ToString(out.QueueUrl), name: *in.QueueName}, nil
}

// missing reports that there is no such queue.
func missing(err error) bool {
	var gone *types.QueueDoesNotExist
	return errors.As(err, &gone)
}

// named returns Options.Queue or its default: a topic is its queue's name.
func named(f func(string) string) func(string) string {
	if f == nil {
		return func(topic string) string { return topic }
	}
	return f
}
