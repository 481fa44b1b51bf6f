package sqs_test

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/url"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"go.uber.org/goleak"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/sqs"
)

// broker is ElasticMQ, with the SDK alone as the foreign client.
type broker struct{ endpoint string }

var conforming = broker{endpoint: os.Getenv(variable)}

// dialed are the tests, which end when no client opens a connection any more.
type dialed struct{ *testing.M }

// Run implements goleak.TestingM.
func (d dialed) Run() int {
	code := d.M.Run()
	dials.Wait()
	return code
}

// The SDK's connections stay open for the next call, and it has no Close. Watermill's suite
// multiplies a subscriber by goroutines of its own that do not end.
func TestMain(m *testing.M) {
	const multiplier = "github.com/ThreeDotsLabs/watermill/internal/subscriber.(*multiplier).Subscribe."
	brokertest.Main(dialed{m}, conforming, goleak.IgnoreAnyFunction(multiplier+"func2"), goleak.IgnoreAnyFunction(multiplier+"func3"),
		goleak.IgnoreAnyFunction("net/http.(*persistConn).readLoop"), goleak.IgnoreAnyFunction("net/http.(*persistConn).writeLoop"))
}

// TestConformance is our own suite.
//
//evidence:sqs
func TestConformance(t *testing.T) {
	brokertest.Variable(t, variable, "sqs")
	brokertest.Run(t, conforming)
}

// TestConformanceFIFO is the suite with FIFO queues. The server is restarted in the other.
//
//evidence:sqs
func TestConformanceFIFO(t *testing.T) {
	brokertest.Variable(t, variable, "sqs")
	t.Parallel()
	brokertest.Run(t, fifo{conforming})
}

// fifo is a broker whose topics have FIFO queues: by their name, so that the suite's
// children, which know one broker only, find them too.
type fifo struct{ broker }

func (f fifo) Features() brokertest.Features {
	features := f.broker.Features()
	features.Name, features.Ordered, features.Keys, features.Restart = "fifo", true, true, nil
	return features
}

// queue is the name of a topic's queue.
func queue(topic string) string {
	if strings.HasPrefix(topic, "hr-fifo-") {
		return topic + ".fifo"
	}
	return topic
}

func (b broker) client() *awssqs.Client { return newClient(b.endpoint) }

func (b broker) Addr() string {
	u, _ := url.Parse(b.endpoint)
	return u.Host
}

func (b broker) through(addr string) *awssqs.Client {
	if addr == "" {
		return b.client()
	}
	return newClient("http://" + addr)
}

func (b broker) Create(ctx context.Context, topic string) error {
	name, attributes := queue(topic), map[string]string{"VisibilityTimeout": "8"}
	if name != topic {
		attributes["FifoQueue"] = "true"
	}
	_, err := b.client().CreateQueue(ctx, &awssqs.CreateQueueInput{QueueName: &name, Attributes: attributes})
	return err
}

func (b broker) Source(addr string) (message.Subscriber, error) {
	return sqs.NewSource(sqs.SourceOptions{Client: b.through(addr), Queue: queue, WaitTime: time.Second, InFlight: 64})
}

func (b broker) Sink(addr string) (message.Publisher, error) {
	return sqs.NewSink(sqs.SinkOptions{Client: b.through(addr), Queue: queue})
}

func (b broker) url(ctx context.Context, topic string) (*string, error) {
	out, err := b.client().GetQueueUrl(ctx, &awssqs.GetQueueUrlInput{QueueName: aws.String(queue(topic))})
	if err != nil {
		return nil, err
	}
	return out.QueueUrl, nil
}

func (b broker) Send(ctx context.Context, topic string, records ...brokertest.Record) error {
	for _, r := range records {
		attributes := map[string]types.MessageAttributeValue{}
		for name, value := range r.Headers {
			attributes[name] = types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &value}
		}
		if err := b.send(ctx, topic, r.Key, r.Payload, attributes); err != nil {
			return err
		}
	}
	return nil
}

func (b broker) send(ctx context.Context, topic, group string, body []byte, attributes map[string]types.MessageAttributeValue) error {
	to, err := b.url(ctx, topic)
	if err != nil {
		return err
	}
	in := &awssqs.SendMessageInput{QueueUrl: to, MessageBody: aws.String(string(body)), MessageAttributes: attributes}
	if queue(topic) != topic {
		in.MessageGroupId, in.MessageDeduplicationId = aws.String(cmp.Or(group, rand.Text())), aws.String(rand.Text())
	}
	_, err = b.client().SendMessage(ctx, in)
	return err
}

func (b broker) Read(ctx context.Context, topic string) (r brokertest.Record, err error) {
	from, err := b.url(ctx, topic)
	if err != nil {
		return r, err
	}
	for {
		out, err := b.client().ReceiveMessage(ctx, &awssqs.ReceiveMessageInput{QueueUrl: from, WaitTimeSeconds: 20, MessageAttributeNames: []string{"All"}})
		if err != nil {
			return r, err
		}
		for _, m := range out.Messages {
			r = brokertest.Record{ID: *m.MessageId, Payload: []byte(*m.Body), Headers: map[string]string{}}
			for name, value := range m.MessageAttributes {
				r.Headers[name] = aws.ToString(value.StringValue)
			}
			if rest := r.Headers[sqs.MetadataAttribute]; rest != "" { // beyond the ten
				err = json.Unmarshal([]byte(rest), &r.Headers)
			}
			return r, err
		}
	}
}

func (b broker) Left(ctx context.Context, topic string) (int, error) {
	to, err := b.url(ctx, topic)
	if err != nil {
		return 0, err
	}
	return left(ctx, b.client(), *to)
}

func (b broker) Features() brokertest.Features {
	text := func(s string) types.MessageAttributeValue {
		return types.MessageAttributeValue{DataType: aws.String("String"), StringValue: &s}
	}
	hostile := func(name string, undecodable bool, attributes map[string]types.MessageAttributeValue) brokertest.Hostile {
		return brokertest.Hostile{Name: name, Undecodable: undecodable, Send: func(ctx context.Context, topic string, body []byte) error {
			return b.send(ctx, topic, "", body, attributes)
		}}
	}
	ten := map[string]types.MessageAttributeValue{}
	for i := range 10 {
		ten[strings.Repeat("n", i+1)] = text("v")
	}
	return brokertest.Features{
		Name: "sqs",
		Hostile: []brokertest.Hostile{
			hostile("binary attribute", false, map[string]types.MessageAttributeValue{"b": {DataType: aws.String("Binary"), BinaryValue: []byte{0xff, 0, 1}}}),
			hostile("number attribute", false, map[string]types.MessageAttributeValue{"n": {DataType: aws.String("Number"), StringValue: aws.String("1e10")}}),
			hostile("custom type", false, map[string]types.MessageAttributeValue{"n": {DataType: aws.String("String.mine"), StringValue: aws.String("x")}}),
			hostile("binary UUID", false, map[string]types.MessageAttributeValue{sqs.UUIDAttribute: {DataType: aws.String("Binary"), BinaryValue: []byte{0xff}}}),
			hostile("ten attributes", false, ten),
			hostile("a large attribute", false, map[string]types.MessageAttributeValue{"n": text(strings.Repeat("x", 64<<10))}),
			hostile("lines and signs", false, map[string]types.MessageAttributeValue{"n": text("a\r\nInjected: b\n世界 🎉"), "o": text("' OR 1=1 --")}),
			hostile("metadata that are none", false, map[string]types.MessageAttributeValue{sqs.MetadataAttribute: text("{")}),
			hostile("body that is no base64", true, map[string]types.MessageAttributeValue{sqs.BodyAttribute: text("base64")}),
		},
		BadPayload: []byte("{not JSON"),
		Redelivery: 10 * time.Second,
		LeastPause: 900 * time.Millisecond,
		InFlight:   64,
		TooLarge:   2 << 20,
		Restart:    func(ctx context.Context) error { return brokertest.Restart(ctx, "sqs") },
		Delete: func(ctx context.Context, topic string) error {
			to, err := b.url(ctx, topic)
			if err != nil {
				return err
			}
			_, err = b.client().DeleteQueue(ctx, &awssqs.DeleteQueueInput{QueueUrl: to})
			return err
		},
	}
}
