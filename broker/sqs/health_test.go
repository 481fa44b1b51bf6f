package sqs_test

import (
	"errors"
	"sync/atomic"
	"testing"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/sqs"
)

// TestHealthy: a source is unhealthy while SQS refuses to give messages, and while the queue
// is gone, also if it is paused; without a subscription it says nothing. Guards:
// subscription.Healthy, ask.
func TestHealthy(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false, "VisibilityTimeout", "30")
	var refused atomic.Bool
	c := &failing{Client: b.client, receive: func() error {
		if refused.Load() {
			return errors.New("access denied")
		}
		return nil
	}}
	s := b.source(sqs.SourceOptions{Client: c})
	healthy := func(want bool) { t.Helper(); brokertest.AwaitHealthy(t, s, b.topic, want) }
	healthy(true)
	messages := b.subscribe(s)
	healthy(true)
	refused.Store(true)
	healthy(false)
	refused.Store(false)
	healthy(true)
	b.send("a")
	b.next(messages).Ack()
	b.emptied()

	s.Pause(b.topic)
	healthy(true)
	if _, err := b.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &b.url}); err != nil {
		t.Fatal(err)
	}
	healthy(false)
}
