package sqs_test

import (
	"errors"
	"sync/atomic"
	"testing"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/headrace/headrace/broker/sqs"
)

// healthy waits until Healthy of the topic is as it should be.
func (b *bundle) healthy(s *sqs.Source, want bool) {
	b.Helper()
	for end := time.Now().Add(patience); ; {
		err := s.Healthy(b.Context(), b.topic)
		if (err == nil) == want {
			return
		}
		if time.Now().After(end) {
			b.Fatalf("healthy: %v", err)
		}
		time.Sleep(20 * time.Millisecond) // it is asked, as the consumer asks
	}
}

// TestHealthy: a source is unhealthy while SQS refuses to give messages, and while the queue
// is gone, also if it is paused; without a subscription it says nothing. Guards:
// subscription.healthy, ask.
func TestHealthy(t *testing.T) {
	t.Parallel()
	b := newQueue(t, false)
	var refused atomic.Bool
	c := &failing{Client: b.client, receive: func() error {
		if refused.Load() {
			return errors.New("access denied")
		}
		return nil
	}}
	s := b.source(sqs.SourceOptions{Client: c})
	b.healthy(s, true)
	messages := b.subscribe(s)
	b.healthy(s, true)
	refused.Store(true)
	b.healthy(s, false)
	refused.Store(false)
	b.healthy(s, true)
	b.send("a")
	b.next(messages).Ack()
	b.emptied()

	s.Pause(b.topic)
	b.healthy(s, true)
	if _, err := b.client.DeleteQueue(t.Context(), &awssqs.DeleteQueueInput{QueueUrl: &b.url}); err != nil {
		t.Fatal(err)
	}
	b.healthy(s, false)
}
