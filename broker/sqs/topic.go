package sqs

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"
	"github.com/aws/aws-sdk-go-v2/service/sns/types"

	"github.com/headrace/headrace/broker/internal/flow"
)

// TopicClient is the part of SNS that a TopicSink needs. The AWS SDK's *sns.Client
// implements it.
type TopicClient interface {
	// PublishBatch publishes up to ten messages.
	PublishBatch(context.Context, *sns.PublishBatchInput, ...func(*sns.Options)) (*sns.PublishBatchOutput, error)
}

var _ TopicClient = (*sns.Client)(nil)

// TopicOptions configure a TopicSink. Only Client is required.
type TopicOptions struct {
	// Client is the SNS client.
	Client TopicClient
	// ARN returns the ARN of a topic. Default: the topic is an ARN.
	ARN func(topic string) string
	// OrderKey returns the message group of a message for a FIFO topic; "" means that it
	// waits for no other. Default: the event's order key, if the relay publishes it.
	OrderKey func(topic string, m *message.Message) string
	// MaxBytes is the largest message with its attributes, and the largest batch. Default
	// 256 KiB, SNS' own limit.
	MaxBytes int
	// Senders is how many batches of one Publish to a standard topic may run at once.
	// Default 4.
	Senders int
	// Timeout bounds one request, including the SDK's own retries; 100 ms to 1 h. Default
	// 10 s.
	Timeout time.Duration
	// UnsafeDeduplicateByID makes the message's UUID the deduplication id on FIFO topics;
	// see SinkOptions.
	UnsafeDeduplicateByID bool
}

// TopicSink publishes to SNS. It is a Watermill Publisher whose Publish returns nil only
// when SNS has confirmed every message. Its methods may be called concurrently.
type TopicSink struct {
	o TopicOptions
	shared
	closed atomic.Bool
}

var _ message.Publisher = (*TopicSink)(nil)

// NewTopicSink returns a TopicSink. It does not connect; the first Publish does.
func NewTopicSink(o TopicOptions) (*TopicSink, error) {
	if o.Client == nil {
		return nil, errors.New("sqs: option TopicOptions.Client is missing: give the AWS SDK's sns.NewFromConfig(…)")
	}
	if o.MaxBytes < 0 || o.MaxBytes > defaultSize {
		return nil, fmt.Errorf("sqs: option TopicOptions.MaxBytes is %d: it may be 1 to %d, or 0 for the default", o.MaxBytes, defaultSize)
	}
	if o.MaxBytes == 0 {
		o.MaxBytes = defaultSize
	}
	c, err := newShared(o.OrderKey, o.UnsafeDeduplicateByID, o.Senders, o.Timeout)
	if err != nil {
		return nil, fmt.Errorf("sqs: TopicOptions: %w", err)
	}
	o.ARN = named(o.ARN)
	return &TopicSink{o: o, shared: c}, nil
}

// Publish publishes the messages and returns when SNS has them: see Sink.Publish.
func (s *TopicSink) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if s.closed.Load() {
		return errors.New("sqs: the sink is closed")
	}
	arn := s.o.ARN(topic)
	fifo := strings.HasSuffix(arn, fifoSuffix)
	all, err := marshal(messages, fifo, s.o.MaxBytes, s.shared, topic)
	if err == nil {
		err = s.publish(messages[0].Context(), all, fifo, s.o.MaxBytes, func(ctx context.Context, batch []outgoing) ([]Refusal, error) {
			return s.batch(ctx, arn, fifo, batch)
		})
	}
	if err != nil {
		return fmt.Errorf("sns: %w", flow.Reach(err, "TopicOptions.Client"))
	}
	return nil
}

// batch publishes one batch, and checks the result of each entry.
func (s *TopicSink) batch(ctx context.Context, arn string, fifo bool, batch []outgoing) (refused []Refusal, err error) {
	in := &sns.PublishBatchInput{TopicArn: &arn}
	for i := range batch {
		m := &batch[i]
		e := types.PublishBatchRequestEntry{Id: entry(i), Message: &m.body, MessageAttributes: map[string]types.MessageAttributeValue{}}
		for name, value := range m.attributes {
			e.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String(stringType), StringValue: &value}
		}
		if fifo {
			e.MessageGroupId, e.MessageDeduplicationId = &m.group, &m.dedup
		}
		in.PublishBatchRequestEntries = append(in.PublishBatchRequestEntries, e)
	}
	out, err := s.o.Client.PublishBatch(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("publish a batch to topic %q: %w", arn, err)
	}
	told := make(results, len(batch))
	for _, e := range out.Successful {
		told.done(e.Id)
	}
	for _, e := range out.Failed {
		if i, ok := told.index(e.Id); ok {
			told[i] = refusal
			refused = append(refused, Refusal{Index: batch[i].index, Code: aws.ToString(e.Code), Sender: e.SenderFault})
		}
	}
	return unnamed(batch, told, refused), nil
}

// Close makes later calls of Publish fail. It does not wait for calls under way.
func (s *TopicSink) Close() error {
	s.closed.Store(true)
	return nil
}
