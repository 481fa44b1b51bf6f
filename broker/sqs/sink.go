package sqs

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/broker/internal/flow"
)

// defaultSize is used for a queue that does not report its own limit: it is the default
// limit of queues.
const defaultSize = 256 << 10

// SinkOptions configure a Sink. Only Client is required.
type SinkOptions struct {
	// Client is the SQS client.
	Client Client
	// Queue returns the name, the URL or the ARN of a topic's queue. Default: the topic
	// is the queue's name. The queue must exist.
	Queue func(topic string) string
	// OrderKey returns the message group of a message for a FIFO queue; "" means that it
	// waits for no other. Default: the event's order key, if the relay publishes it.
	OrderKey func(topic string, m *message.Message) string
	// MaxBytes is the largest message with its attributes, and the largest batch.
	// Default: the queue's MaximumMessageSize, which needs the permission
	// sqs:GetQueueAttributes, otherwise 256 KiB.
	MaxBytes int
	// Senders is how many batches of one Publish to a standard queue may run at once.
	// Default 4.
	Senders int
	// Timeout bounds one request, including the SDK's own retries; 100 ms to 1 h. Default
	// 10 s.
	Timeout time.Duration
	// UnsafeDeduplicateByID makes the message's UUID the deduplication id on FIFO queues.
	// SQS then confirms but drops a message that is sent again within five minutes, even
	// if the first one was consumed and lost.
	UnsafeDeduplicateByID bool
}

// Sink sends to SQS. It is a Watermill Publisher whose Publish returns nil only when SQS
// has confirmed every message. Its methods may be called concurrently.
type Sink struct {
	o SinkOptions
	shared
	mu     sync.Mutex
	queues map[string]target // by topic
	closed bool
}

// target is a queue with its largest message.
type target struct {
	queue
	limit int
}

var _ message.Publisher = (*Sink)(nil)

// NewSink returns a Sink. It does not connect; the first Publish does.
func NewSink(o SinkOptions) (*Sink, error) {
	if o.Client == nil {
		return nil, errors.New("sqs: option SinkOptions.Client is missing: give the AWS SDK's sqs.NewFromConfig(…)")
	}
	if o.MaxBytes < 0 || o.MaxBytes > 1<<20 {
		return nil, fmt.Errorf("sqs: option SinkOptions.MaxBytes is %d: it may be 1 to 1048576, or 0 for the default", o.MaxBytes)
	}
	c, err := newShared(o.OrderKey, o.UnsafeDeduplicateByID, o.Senders, o.Timeout)
	if err != nil {
		return nil, fmt.Errorf("sqs: SinkOptions: %w", err)
	}
	o.Queue = named(o.Queue)
	return &Sink{o: o, shared: c, queues: map[string]target{}}, nil
}

// SinkKind names the region and the endpoint, for the relay. The account is not known from the
// client, so it is no identity: see relay.Options.SinkID.
func (s *Sink) SinkKind() string {
	c, ok := s.o.Client.(interface{ Options() awssqs.Options })
	if !ok {
		return fmt.Sprintf("sqs %T", s.o.Client)
	}
	o := c.Options()
	endpoint, err := url.Parse(aws.ToString(o.BaseEndpoint))
	if err != nil {
		return "sqs:" + o.Region
	}
	return strings.TrimSpace("sqs:" + o.Region + " " + endpoint.Host)
}

// Publish sends the messages and returns when SQS has them. If a message cannot be sent
// (outbox.ErrTooLarge) none is; if SQS rejects some, the error is a RefusedError. It runs under
// the context of the first message.
func (s *Sink) Publish(topic string, messages ...*message.Message) error {
	if len(messages) == 0 {
		return nil
	}
	if err := s.send(messages[0].Context(), topic, messages); err != nil {
		return fmt.Errorf("sqs: %w", flow.Reach(err, "SinkOptions.Client"))
	}
	return nil
}

func (s *Sink) send(ctx context.Context, topic string, messages []*message.Message) error {
	t, err := s.target(ctx, topic)
	if err != nil {
		return err
	}
	all, err := marshal(messages, t.fifo(), t.limit, s.shared, topic)
	if err != nil {
		return err
	}
	return s.publish(ctx, all, t.fifo(), t.limit, func(ctx context.Context, batch []outgoing) ([]Refusal, error) {
		return s.batch(ctx, t, batch)
	})
}

// target finds the topic's queue, and stores it.
func (s *Sink) target(ctx context.Context, topic string) (target, error) {
	s.mu.Lock()
	t, found := s.queues[topic]
	closed := s.closed
	s.mu.Unlock()
	if found || closed {
		if closed {
			return target{}, errors.New("the sink is closed")
		}
		return t, nil
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	q, err := resolve(ctx, s.o.Client, s.o.Queue(topic))
	if err != nil {
		return target{}, err
	}
	t = target{queue: q, limit: s.o.MaxBytes}
	if t.limit == 0 {
		t.limit = s.size(ctx, q)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queues[topic] = t
	return t, nil
}

func (s *Sink) size(ctx context.Context, q queue) int {
	size, err := attribute(ctx, s.o.Client, q, types.QueueAttributeNameMaximumMessageSize)
	if err != nil {
		return defaultSize
	}
	n, err := strconv.Atoi(size)
	if err != nil || n <= 0 {
		return defaultSize
	}
	return n
}

// batch sends one batch, and checks the result of each entry.
func (s *Sink) batch(ctx context.Context, t target, batch []outgoing) (refused []Refusal, err error) {
	in := &awssqs.SendMessageBatchInput{QueueUrl: &t.url}
	for i := range batch {
		m := &batch[i]
		e := types.SendMessageBatchRequestEntry{Id: entry(i), MessageBody: &m.body, MessageAttributes: map[string]types.MessageAttributeValue{}}
		for name, value := range m.attributes {
			e.MessageAttributes[name] = types.MessageAttributeValue{DataType: aws.String(stringType), StringValue: &value}
		}
		if t.fifo() {
			e.MessageGroupId, e.MessageDeduplicationId = &m.group, &m.dedup
		}
		in.Entries = append(in.Entries, e)
	}
	out, err := s.o.Client.SendMessageBatch(ctx, in)
	if err != nil {
		return nil, fmt.Errorf("send a batch to queue %q: %w", t.name, err)
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
func (s *Sink) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	return nil
}
