package sqs_test

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/dlq/from"
	"github.com/headrace/headrace/dlq/redrive"
	"github.com/headrace/headrace/store"
	"github.com/headrace/headrace/store/sqlite"
)

// What a redrive policy moved becomes a dead letter under the key that it had before, unless it
// was applied.
//
//evidence:ingest
func TestIngest(t *testing.T) {
	b, dead, st := setupIngest(t)
	var applied []string // by one handler at a time
	run := func() (c *consumer.Consumer, stop func()) {
		source := b.source(sqs.SourceOptions{UnsafeRedrivePolicy: true})
		c, err := consumer.New("billing", st, consumer.Config{Source: source, Codec: codec.Raw(), Concurrency: 1, Logger: slog.New(slog.DiscardHandler)})
		if err != nil {
			t.Fatal(err)
		}
		consumer.Handle(c, b.topic, func(_ context.Context, _ *headrace.Tx, m *headrace.Message[[]byte]) error {
			applied = append(applied, string(m.Body))
			return nil
		}, consumer.Ingest(dead.topic, source, from.SQS()))
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan error, 1)
		go func() { ended <- c.Run(ctx) }()
		return c, func() {
			cancel()
			if err := <-ended; err != nil {
				t.Errorf("Run: %v", err)
			}
		}
	}
	id := map[string]types.MessageAttributeValue{sqs.UUIDAttribute: {DataType: aws.String("String"), StringValue: aws.String("m-1")}}
	b.sendInput(&awssqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String("applied"), MessageAttributes: id})
	c, stop := run()
	b.until("a message is applied", func() bool { return c.Stats().Applied == 1 })
	stop()

	lost := b.sendInput(&awssqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String("lost")})
	b.sendInput(&awssqs.SendMessageInput{QueueUrl: &b.url, MessageBody: aws.String("applied"), MessageAttributes: id})
	b.moved(dead, 2)
	c, stop = run()
	b.until("the dead letters are read", func() bool { s := c.Stats(); return s.Dead == 1 && s.Duplicates == 1 })
	letters, err := redrive.New(st).List(t.Context(), dlq.Filter{Class: dlq.Ingested}, 0, 10)
	if err != nil || len(letters) != 1 || letters[0].Delivery.Key != lost || letters[0].Delivery.Topic != b.topic {
		t.Fatalf("letters %+v, %v; want the key %s", letters, err, lost)
	}
	if want := "(given up by SQS, from " + b.topic + ")"; !strings.HasSuffix(letters[0].Error, want) || letters[0].Delivery.Coordinates.Topic != b.topic {
		t.Errorf("its error is %s, its position %s", letters[0].Error, letters[0].Delivery.Coordinates)
	}
	if _, err := redrive.New(st).Redrive(t.Context(), redrive.Request{Filter: dlq.Filter{Key: lost}, By: "ann", Reason: "test"}); err != nil {
		t.Fatal(err)
	}
	b.until("the letter is applied", func() bool { return c.Stats().BacklogApplied == 1 })
	stop()
	if !slices.Equal(applied, []string{"applied", "lost"}) {
		t.Errorf("applied: %v", applied)
	}
	report, err := st.Check(t.Context())
	if err != nil || slices.ContainsFunc(report.Rules, func(r store.RuleResult) bool { return r.Violations > 0 }) {
		t.Errorf("check: %+v, %v", report, err)
	}
}

// until waits for what only SQS or the consumer knows, and does not tell.
func (b *bundle) until(what string, f func() bool) {
	b.Helper()
	for end := time.Now().Add(waitTimeout); !f(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			b.Fatalf("in vain: %s", what)
		}
	}
}

// moved has SQS move n messages to dead: it does at the receive after the first.
func (b *bundle) moved(dead *bundle, n int) {
	b.Helper()
	b.until("the messages are moved", func() bool {
		out, err := b.client.ReceiveMessage(b.Context(), &awssqs.ReceiveMessageInput{QueueUrl: &b.url, MaxNumberOfMessages: 10})
		if err != nil {
			b.Fatal(err)
		}
		for _, m := range out.Messages {
			if _, err := b.client.ChangeMessageVisibility(b.Context(), &awssqs.ChangeMessageVisibilityInput{QueueUrl: &b.url, ReceiptHandle: m.ReceiptHandle}); err != nil {
				b.Fatal(err)
			}
		}
		moved, err := b.client.GetQueueAttributes(b.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &dead.url, AttributeNames: []types.QueueAttributeName{"ApproximateNumberOfMessages"}})
		return err == nil && moved.Attributes["ApproximateNumberOfMessages"] == strconv.Itoa(n)
	})
}

// setupIngest makes a queue, that to which SQS moves what is received twice, and a database.
func setupIngest(t *testing.T) (b, dead *bundle, st *sqlite.Store) {
	t.Helper()
	dead = newQueue(t, false)
	arn, err := dead.client.GetQueueAttributes(t.Context(), &awssqs.GetQueueAttributesInput{QueueUrl: &dead.url, AttributeNames: []types.QueueAttributeName{"QueueArn"}})
	if err != nil {
		t.Fatal(err)
	}
	b = newQueue(t, false, "RedrivePolicy", fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"1"}`, arn.Attributes["QueueArn"]))
	st, err = sqlite.Open(t.Context(), filepath.Join(t.TempDir(), "test.db"), sqlite.Options{Migrate: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = st.Close() })
	return b, dead, st
}
