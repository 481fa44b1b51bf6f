package sqs_test

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/sns"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/outbox"
)

// stub answers PublishBatch as SNS does, in its query protocol. A stub, since no server of
// SNS runs on one machine: what it shows is what is sent, and what becomes of answers.
type stub struct {
	mu     sync.Mutex
	calls  []url.Values
	refuse string // the message that is refused
}

func (s *stub) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	_ = r.ParseForm()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = append(s.calls, r.PostForm)
	var ok, failed strings.Builder
	for i := 1; ; i++ {
		prefix := fmt.Sprintf("PublishBatchRequestEntries.member.%d.", i)
		id := r.PostForm.Get(prefix + "Id")
		if id == "" {
			break
		}
		if r.PostForm.Get(prefix+"Message") == s.refuse {
			fmt.Fprintf(&failed, "<member><Id>%s</Id><Code>InvalidParameter</Code><SenderFault>true</SenderFault></member>", id)
		} else {
			fmt.Fprintf(&ok, "<member><Id>%s</Id><MessageId>m%d</MessageId></member>", id, i)
		}
	}
	w.Header().Set("Content-Type", "text/xml")
	fmt.Fprintf(w, `%s<PublishBatchResponse xmlns="http://sns.amazonaws.com/doc/2010-03-31/"><PublishBatchResult><Successful>%s</Successful>`+
		`<Failed>%s</Failed></PublishBatchResult></PublishBatchResponse>`, xml.Header, &ok, &failed)
}

func newTopic(t *testing.T, o sqs.TopicOptions) (*sqs.TopicSink, *stub) {
	t.Helper()
	s := &stub{refuse: "never"}
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	transport := &http.Transport{}
	t.Cleanup(transport.CloseIdleConnections)
	o.Client = sns.NewFromConfig(aws.Config{
		Region: "eu-west-1", HTTPClient: &http.Client{Transport: transport},
		Credentials: aws.CredentialsProviderFunc(func(context.Context) (aws.Credentials, error) {
			return aws.Credentials{AccessKeyID: "x", SecretAccessKey: "x"}, nil
		}),
	}, func(o *sns.Options) { o.BaseEndpoint = &server.URL })
	sink, err := sqs.NewTopicSink(o)
	if err != nil {
		t.Fatal(err)
	}
	return sink, s
}

// TestTopicSink: batches of ten, with Watermill's UUID and the metadata as attributes.
func TestTopicSink(t *testing.T) {
	sink, stub := newTopic(t, sqs.TopicOptions{ARN: func(topic string) string { return "arn:aws:sns:eu-west-1:1:" + topic }, Senders: 1})
	var all []*message.Message
	for i := range 12 {
		m := message.NewMessage(fmt.Sprintf("id%d", i), []byte("hello"))
		m.Metadata.Set("name", "value")
		all = append(all, m)
	}
	if err := sink.Publish("orders", all...); err != nil {
		t.Fatal(err)
	}
	if len(stub.calls) != 2 {
		t.Fatalf("%d calls", len(stub.calls))
	}
	first := stub.calls[0]
	if first.Get("TopicArn") != "arn:aws:sns:eu-west-1:1:orders" || first.Get("PublishBatchRequestEntries.member.10.Message") != "hello" ||
		first.Get("PublishBatchRequestEntries.member.1.MessageGroupId") != "" {
		t.Error(first)
	}
	text := first.Encode()
	for _, want := range []string{"_watermill_message_uuid", "id9", "name", "value"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in %s", want, text)
		}
	}
	stub.refuse = "bad"
	all[3].Payload = []byte("bad")
	var refused *sqs.RefusedError
	if err := sink.Publish("orders", all...); !errors.As(err, &refused) || len(refused.Refused) != 1 || refused.Refused[0].Index != 3 {
		t.Errorf("%v", err)
	}
	large := message.NewMessage("id", []byte(strings.Repeat("x", 256<<10)))
	if err := sink.Publish("orders", large); !errors.Is(err, outbox.ErrTooLarge) {
		t.Error(err)
	}
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	if err := sink.Publish("orders", all[0]); err == nil {
		t.Error("it publishes after Close")
	}
}

// TestFIFOTopic: the group is the order key, and a message is not dropped for its id.
func TestFIFOTopic(t *testing.T) {
	sink, stub := newTopic(t, sqs.TopicOptions{})
	m := message.NewMessage("id", []byte("hello"))
	m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{OrderKey: "key"}))
	for range 2 {
		if err := sink.Publish("arn:aws:sns:eu-west-1:1:orders.fifo", m); err != nil {
			t.Fatal(err)
		}
	}
	const entry = "PublishBatchRequestEntries.member.1."
	if g := stub.calls[0].Get(entry + "MessageGroupId"); g != "key" {
		t.Errorf("group %q", g)
	}
	one, two := stub.calls[0].Get(entry+"MessageDeduplicationId"), stub.calls[1].Get(entry+"MessageDeduplicationId")
	if one == "" || one == two {
		t.Errorf("deduplication ids %q and %q", one, two)
	}
}

// TestTopicOptions: each mistake is refused by name.
func TestTopicOptions(t *testing.T) {
	if _, err := sqs.NewTopicSink(sqs.TopicOptions{}); err == nil || !strings.Contains(err.Error(), "TopicOptions.Client") {
		t.Error(err)
	}
	if _, err := sqs.NewTopicSink(sqs.TopicOptions{Client: sns.New(sns.Options{}), MaxBytes: 1 << 20}); err == nil || !strings.Contains(err.Error(), "TopicOptions.MaxBytes") {
		t.Error(err)
	}
}
