package sqs_test

import (
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"

	"github.com/aws/aws-sdk-go-v2/aws"
	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"

	"github.com/headrace/headrace/broker/brokertest"
	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/consumer"
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

// TestCannotServe: an SQS that cannot serve when the consumer starts is waited for, and one
// that refuses is not. A stub, since ElasticMQ always serves. Guard: reach.
func TestCannotServe(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		status int
		body   string
		waits  bool
	}{
		"internal error":   {500, `{"__type":"com.amazonaws.sqs#InternalError","message":"x"}`, true},
		"unavailable":      {503, `{"__type":"com.amazonaws.sqs#ServiceUnavailable","message":"x"}`, true},
		"a proxy's page":   {502, "<html>Bad Gateway</html>", true},
		"an empty answer":  {504, "", true},
		"too many":         {429, "slow down", true},
		"no such queue":    {400, `{"__type":"com.amazonaws.sqs#QueueDoesNotExist","message":"x"}`, false},
		"access denied":    {403, `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"x"}`, false},
		"a page of a 404":  {404, "<html>Not Found</html>", false},
		"wrong signature":  {403, `{"__type":"com.amazon.coral.service#InvalidSignatureException","message":"x"}`, false},
		"bad request page": {400, "<html>Bad Request</html>", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", "application/x-amz-json-1.0")
				w.WriteHeader(c.status)
				_, _ = fmt.Fprint(w, c.body)
			}))
			defer server.Close()
			client := newClient(server.URL, func(o *awssqs.Options) { o.Retryer = aws.NopRetryer{} })
			s, err := sqs.NewSource(sqs.SourceOptions{Client: client})
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = s.Close() }()
			if err := s.Check(t.Context(), "orders", consumer.Demands{}); errors.Is(err, consumer.ErrUnavailable) != c.waits {
				t.Errorf("Check: %v", err)
			}
			if _, err := s.Subscribe(t.Context(), "orders"); errors.Is(err, consumer.ErrUnavailable) != c.waits {
				t.Errorf("Subscribe: %v", err)
			}
		})
	}
}
