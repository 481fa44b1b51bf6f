package sqs_test

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/sqs"
)

// waitTimeout bounds each wait for what must happen: machines may be slow.
const waitTimeout = time.Minute

// variable says where ElasticMQ is.
const variable = "HEADRACE_TEST_SQS"

// dials are the connections that clients are opening. The transport goes on with one, for 30 s at
// most, after its request was given up: a server that is busy may not accept it at once.
var dials sync.WaitGroup

func counted(t *http.Transport) {
	dial := t.DialContext
	t.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials.Add(1)
		defer dials.Done()
		return dial(ctx, network, addr)
	}
}

// newClient is the SDK's own client, which is also the foreign one of these tests.
func newClient(endpoint string, more ...func(*awssqs.Options)) *awssqs.Client {
	return awssqs.NewFromConfig(aws.Config{
		Region:     "elasticmq",
		HTTPClient: awshttp.NewBuildableClient().WithTransportOptions(counted),
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "x", SecretAccessKey: "x"}, nil
		}),
	}, append(more, func(o *awssqs.Options) { o.BaseEndpoint = &endpoint })...)
}

// bundle is a queue of the test's own.
type bundle struct {
	*testing.T
	client *awssqs.Client
	topic  string
	url    string
}

var queues atomic.Int64

// newQueue makes a queue; attributes are name and value by turns.
func newQueue(t *testing.T, fifo bool, attributes ...string) *bundle {
	t.Helper()
	b := &bundle{T: t, client: newClient(brokertest.Variable(t, variable, "sqs"))}
	b.topic = fmt.Sprintf("t%d-%d", os.Getpid(), queues.Add(1))
	if fifo {
		b.topic += ".fifo"
	}
	b.url = create(t, b.client, b.topic, attributes...)
	return b
}

func create(t *testing.T, client *awssqs.Client, name string, attributes ...string) string {
	t.Helper()
	a := map[string]string{"VisibilityTimeout": "2"}
	if strings.HasSuffix(name, ".fifo") {
		a["FifoQueue"] = "true"
	}
	for i := 0; i < len(attributes); i += 2 {
		a[attributes[i]] = attributes[i+1]
	}
	out, err := client.CreateQueue(t.Context(), &awssqs.CreateQueueInput{QueueName: &name, Attributes: a})
	if err != nil {
		t.Fatal(err)
	}
	return *out.QueueUrl
}

func (b *bundle) source(o sqs.SourceOptions) *sqs.Source {
	b.Helper()
	if o.Client == nil {
		o.Client = b.client
	}
	if o.WaitTime == 0 {
		o.WaitTime = time.Second
	}
	s, err := sqs.NewSource(o)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = s.Close() })
	return s
}

func (b *bundle) subscribe(s *sqs.Source) <-chan *message.Message {
	b.Helper()
	messages, err := s.Subscribe(b.Context(), b.topic)
	if err != nil {
		b.Fatal(err)
	}
	return messages
}

func (b *bundle) sink(o sqs.SinkOptions) *sqs.Sink {
	b.Helper()
	if o.Client == nil {
		o.Client = b.client
	}
	s, err := sqs.NewSink(o)
	if err != nil {
		b.Fatal(err)
	}
	return s
}

// send sends bodies with the SDK alone.
func (b *bundle) send(bodies ...string) {
	b.Helper()
	for i, body := range bodies {
		in := &awssqs.SendMessageInput{QueueUrl: &b.url, MessageBody: &body}
		if strings.HasSuffix(b.topic, ".fifo") {
			in.MessageGroupId, in.MessageDeduplicationId = aws.String("g"), aws.String(fmt.Sprint(body, i))
		}
		b.sendInput(in)
	}
}

func (b *bundle) sendInput(in *awssqs.SendMessageInput) string {
	b.Helper()
	in.QueueUrl = &b.url
	out, err := b.client.SendMessage(b.Context(), in)
	if err != nil {
		b.Fatal(err)
	}
	return *out.MessageId
}

// left is how many messages the queue has, hidden ones included.
func left(ctx context.Context, client *awssqs.Client, url string) (n int, err error) {
	out, err := client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{QueueUrl: &url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll}})
	if err != nil {
		return 0, err
	}
	for _, name := range []string{"ApproximateNumberOfMessages", "ApproximateNumberOfMessagesNotVisible", "ApproximateNumberOfMessagesDelayed"} {
		var k int
		_, _ = fmt.Sscan(out.Attributes[name], &k)
		n += k
	}
	return n, nil
}

// emptied waits until the queue has no message.
func (b *bundle) emptied() {
	b.Helper()
	for end := time.Now().Add(waitTimeout); ; time.Sleep(10 * time.Millisecond) {
		n, err := left(b.Context(), b.client, b.url)
		if err != nil {
			b.Fatal(err)
		}
		if n == 0 {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("%d messages are left on the queue", n)
		}
	}
}

// next returns the next message.
func (b *bundle) next(messages <-chan *message.Message) *message.Message {
	b.Helper()
	select {
	case m, ok := <-messages:
		if !ok {
			b.Fatal("the subscription has ended")
		}
		return m
	case <-time.After(waitTimeout):
		b.Fatal("no message came")
	}
	return nil
}

// none says that no message comes for d. It is the only way to see that something does
// not happen on a server.
func (b *bundle) none(messages <-chan *message.Message, d time.Duration) {
	b.Helper()
	select {
	case m := <-messages:
		b.Fatalf("a message came: %q", m.Payload)
	case <-time.After(d):
	}
}
