package sqs_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"
	"github.com/google/go-cmp/cmp"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/outbox"
)

// received takes what the queue has with the SDK alone.
func (b *bundle) received(n int) (all []types.Message) {
	b.Helper()
	for end := time.Now().Add(waitTimeout); len(all) < n && time.Now().Before(end); {
		out, err := b.client.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{
			QueueUrl: &b.url, MaxNumberOfMessages: 10, WaitTimeSeconds: 1, VisibilityTimeout: 60, MessageAttributeNames: []string{"All"},
			MessageSystemAttributeNames: []types.MessageSystemAttributeName{"All"},
		})
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range out.Messages {
			all = append(all, m)
			if _, err := b.client.DeleteMessage(b.Context(), &awssqs.DeleteMessageInput{QueueUrl: &b.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				b.Fatal(err)
			}
		}
	}
	if len(all) < n {
		b.Fatalf("%d messages instead of %d", len(all), n)
	}
	return all
}

// TestSinkRoundTrip: payloads and metadata that SQS itself would not take. TRAPS, aws: at
// most ten attributes, none empty. Guard: marshalOne.
func TestSinkRoundTrip(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "30") // what comes again is not read any more
	sink := b.sink(sqs.SinkOptions{})
	want := map[string]*message.Message{}
	var all []*message.Message
	for i, payload := range []string{"text", "", "\x00\xff", strings.Repeat("ü", 1000), "{}"} {
		m := message.NewMessage(fmt.Sprintf("id-%d", i), []byte(payload))
		for k := range i * 5 {
			m.Metadata.Set(fmt.Sprintf("name-%d", k), fmt.Sprint(k))
		}
		m.Metadata.Set("empty", "")
		m.Metadata.Set("bytes", "\xff\x00")
		m.Metadata.Set("no name for SQS!", "x")
		want[m.UUID] = m
		all = append(all, m)
	}
	if err := sink.Publish(b.topic, all...); err != nil {
		t.Fatal(err)
	}
	messages := b.subscribe(b.source(sqs.SourceOptions{}))
	for range all {
		m := b.next(messages)
		w := want[m.UUID]
		if w == nil || string(w.Payload) != string(m.Payload) {
			t.Fatalf("message %q has payload %q", m.UUID, m.Payload)
		}
		if diff := cmp.Diff(map[string]string(w.Metadata), map[string]string(m.Metadata)); diff != "" {
			t.Error(diff)
		}
		m.Ack()
	}
	b.emptied()
}

// TestSinkWire: what stands on the queue is what watermill-aws reads.
func TestSinkWire(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false)
	m := message.NewMessage("id", []byte(`{"a":1}`))
	m.Metadata.Set("name", "value")
	if err := b.sink(sqs.SinkOptions{}).Publish(b.topic, m); err != nil {
		t.Fatal(err)
	}
	got := b.received(1)[0]
	names := map[string]string{}
	for name, v := range got.MessageAttributes {
		names[name] = aws.ToString(v.DataType) + ":" + aws.ToString(v.StringValue)
	}
	if diff := cmp.Diff(map[string]string{"name": "String:value", "_watermill_message_uuid": "String:id"}, names); diff != "" || *got.Body != `{"a":1}` {
		t.Error(diff, *got.Body)
	}
}

// TestTooLarge: the error of a message above the limit is that of one message: nothing of
// the call is sent, and the others pass without it. Guard: marshal.
func TestTooLarge(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false)
	sink := b.sink(sqs.SinkOptions{})
	large := message.NewMessage("large", []byte(strings.Repeat("x", 1<<20+1)))
	small := message.NewMessage("small", []byte("x"))
	if err := sink.Publish(b.topic, small, large); !errors.Is(err, outbox.ErrTooLarge) || strings.Contains(err.Error(), "xxx") {
		t.Errorf("%.200v", err)
	}
	if n, err := left(t.Context(), b.client, b.url); n != 0 || err != nil {
		t.Errorf("%d messages were sent, %v", n, err)
	}
	if err := sink.Publish(b.topic, small); err != nil {
		t.Error(err)
	}
	b.received(1)
	var many []*message.Message
	for i := range 30 {
		many = append(many, message.NewMessage(fmt.Sprint(i), []byte(strings.Repeat("x", 100_000))))
	}
	if err := sink.Publish(b.topic, many...); err != nil {
		t.Errorf("batches above the limit of one message: %v", err)
	}
	b.received(30)
}

// TestNoQueue: publishing to a queue that does not exist is an error, also where it existed
// a moment ago. Guard: resolve; the server.
func TestNoQueue(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false)
	sink := b.sink(sqs.SinkOptions{})
	if err := sink.Publish("nowhere", message.NewMessage("id", []byte("x"))); err == nil {
		t.Error("no error")
	}
	if err := sink.Publish(b.topic, message.NewMessage("id", []byte("x"))); err != nil {
		t.Fatal(err)
	}
	if _, err := b.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &b.url}); err != nil {
		t.Fatal(err)
	}
	if err := sink.Publish(b.topic, message.NewMessage("id", []byte("x"))); err == nil {
		t.Error("no error")
	}
	create(t, b.client, b.topic)
	if err := sink.Publish(b.topic, message.NewMessage("id", []byte("x"))); err != nil {
		t.Error(err)
	}
	if err := sink.Close(); err != nil {
		t.Error(err)
	}
	if err := sink.Publish(b.topic, message.NewMessage("id", []byte("x"))); err == nil {
		t.Error("it publishes after Close")
	}
}

// partial refuses one entry of a batch and leaves another out of its answer. A fake on top
// of the real client, since ElasticMQ takes batches whole.
type partial struct{ *awssqs.Client }

func (p partial) SendMessageBatch(ctx context.Context, in *awssqs.SendMessageBatchInput, o ...func(*awssqs.Options)) (*awssqs.SendMessageBatchOutput, error) {
	id := in.Entries[0].Id
	in.Entries = in.Entries[1:]
	out, err := p.Client.SendMessageBatch(ctx, in, o...)
	if err == nil {
		out.Failed = append(out.Failed, types.BatchResultErrorEntry{Id: id, Code: aws.String("InvalidMessageContents"), SenderFault: true})
		out.Successful = out.Successful[1:]
	}
	return out, err
}

// TestPartialBatch: the results of a batch are looked at one by one. Guard: Sink.batch,
// unnamed.
//
//evidence:sqs
func TestPartialBatch(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false)
	var all []*message.Message
	for i := range 10 {
		all = append(all, message.NewMessage(fmt.Sprint(i), []byte("x")))
	}
	err := b.sink(sqs.SinkOptions{Client: partial{b.client}}).Publish(b.topic, all...)
	var refused *sqs.RefusedError
	if !errors.As(err, &refused) || len(refused.Refused) != 2 || refused.Messages != 10 {
		t.Fatal(err)
	}
	if r := refused.Refused[0]; r.Index != 0 || r.Code != "InvalidMessageContents" || !r.Sender {
		t.Errorf("%+v", r)
	}
	if r := refused.Refused[1]; r.Sender {
		t.Errorf("%+v", r)
	}
}

// TestFIFOSink: the group is the order key, and what is sent again with the same id within
// five minutes arrives again. TRAPS, aws: FIFO drops a redrive with the same deduplication
// id. Guard: dedupOf; UnsafeDeduplicateByID shows what happens without it.
func TestFIFOSink(t *testing.T) {
	t.Parallel()
	b := newQueue(t, true)
	m := func() *message.Message {
		m := message.NewMessage("same", []byte("x"))
		m.SetContext(headrace.WithArrival(t.Context(), headrace.Arrival{OrderKey: "customer 7"}))
		return m
	}
	sink := b.sink(sqs.SinkOptions{})
	for range 2 {
		if err := sink.Publish(b.topic, m(), m()); err != nil {
			t.Fatal(err)
		}
	}
	groups := map[string]int{}
	for _, got := range b.received(4) {
		groups[got.Attributes["MessageGroupId"]]++
	}
	for group, n := range groups {
		if n != 4 || !strings.HasPrefix(group, "sha256-") { // SQS takes no blank
			t.Errorf("groups %v", groups)
		}
	}
	sink = b.sink(sqs.SinkOptions{UnsafeDeduplicateByID: true})
	for range 2 {
		if err := sink.Publish(b.topic, m()); err != nil {
			t.Fatal(err)
		}
	}
	b.received(1)
	if n, err := left(t.Context(), b.client, b.url); n != 0 || err != nil {
		t.Errorf("%d more, %v", n, err)
	}
}
