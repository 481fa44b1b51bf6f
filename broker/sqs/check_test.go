package sqs_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace/broker/sqs"
	"github.com/headrace/headrace/consumer"
)

var usual = consumer.Demands{HandlerTimeout: 30 * time.Second, AckWait: 40 * time.Second, Deliveries: 10, InFlight: 64}

// TestCheck: the limits of a queue against what the consumer needs, each refused by name.
// Guard: limits.check.
func TestCheck(t *testing.T) {
	t.Parallel()
	dead := newQueue(t, false)
	arn := "arn:aws:sqs:elasticmq:000000000000:" + dead.topic
	redrive := func(n int) []string {
		return []string{"RedrivePolicy", fmt.Sprintf(`{"deadLetterTargetArn":%q,"maxReceiveCount":"%d"}`, arn, n)}
	}
	long := usual
	long.AckWait = 13 * time.Hour
	patient := usual
	patient.AckWait = 2 * time.Minute
	// ElasticMQ has no MessageRetentionPeriod, so it is put into its mouth.
	keeps := func(seconds int, o sqs.SourceOptions) sqs.SourceOptions {
		o.Client = &client{Client: dead.client, says: map[string]string{"MessageRetentionPeriod": fmt.Sprint(seconds)}}
		return o
	}
	for _, c := range []struct {
		name       string
		attributes []string
		options    sqs.SourceOptions
		demands    consumer.Demands
		want       []string // of the error; nil: it starts
	}{
		{name: "usual", demands: usual},
		{"visibility 0", []string{"VisibilityTimeout", "0"}, sqs.SourceOptions{}, usual, []string{"VisibilityTimeout 0", "SourceOptions.Visibility"}},
		{"visibility of ours", []string{"VisibilityTimeout", "0"}, sqs.SourceOptions{Visibility: 5 * time.Second}, usual, nil},
		{"no heartbeat", nil, sqs.SourceOptions{UnsafeNoHeartbeat: true}, usual, []string{"VisibilityTimeout", "UnsafeNoHeartbeat"}},
		{"no heartbeat, long enough", []string{"VisibilityTimeout", "60"}, sqs.SourceOptions{UnsafeNoHeartbeat: true}, usual, nil},
		{"twelve hours", nil, sqs.SourceOptions{}, long, []string{"12h0m0s"}},
		{"few receives", redrive(3), sqs.SourceOptions{}, usual, []string{"maxReceiveCount 3", "10", "UnsafeRedrivePolicy"}},
		{"few receives, accepted", redrive(3), sqs.SourceOptions{UnsafeRedrivePolicy: true}, usual, nil},
		{"enough receives", redrive(10), sqs.SourceOptions{}, usual, nil},
		{"retention declared too short", nil, keeps(345600, sqs.SourceOptions{Retention: time.Hour}), usual, []string{"SourceOptions.Retention 1h0m0s"}},
		{"retention of the queue", nil, keeps(345600, sqs.SourceOptions{Retention: 96 * time.Hour}), usual, nil},
		{"retention below the handler", nil, keeps(60, sqs.SourceOptions{}), patient, []string{"MessageRetentionPeriod 1m0s"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newQueue(t, false, c.attributes...)
			s := b.source(c.options)
			err := s.Check(t.Context(), b.topic, c.demands)
			if (err == nil) != (c.want == nil) {
				t.Fatal(err)
			}
			for _, words := range c.want {
				if !strings.Contains(err.Error(), words) {
					t.Errorf("%q says nothing of %q", err, words)
				}
			}
		})
	}
	t.Run("no queue", func(t *testing.T) {
		if err := dead.source(sqs.SourceOptions{}).Check(t.Context(), "nowhere", usual); err == nil || !strings.Contains(err.Error(), `queue "nowhere" does not exist`) {
			t.Error(err)
		}
	})
}

// TestOptions: each mistake is refused by name.
func TestOptions(t *testing.T) {
	t.Parallel()
	client := newClient("http://127.0.0.1:1")
	for want, o := range map[string]sqs.SourceOptions{
		"SourceOptions.Client":     {},
		"SourceOptions.Visibility": {Client: client, Visibility: 13 * time.Hour},
		"SourceOptions.NackDelay":  {Client: client, NackDelay: 1500 * time.Millisecond},
		"SourceOptions.WaitTime":   {Client: client, WaitTime: 21 * time.Second},
		"SourceOptions.InFlight":   {Client: client, InFlight: 200_000},
		"SourceOptions.Receivers":  {Client: client, Receivers: -1},
		"SourceOptions.Retention":  {Client: client, Retention: 15 * 24 * time.Hour},
	} {
		if _, err := sqs.NewSource(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	for want, o := range map[string]sqs.SinkOptions{
		"SinkOptions.Client":   {},
		"SinkOptions.MaxBytes": {Client: client, MaxBytes: 2 << 20},
		"Senders":              {Client: client, Senders: -1},
		"Timeout":              {Client: client, Timeout: -1},
		"Timeout is 5ns":       {Client: client, Timeout: 5},
	} {
		if _, err := sqs.NewSink(o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
	s, err := sqs.NewSource(sqs.SourceOptions{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	sink, err := sqs.NewSink(sqs.SinkOptions{Client: client})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Check(t.Context(), "orders", usual); err == nil || !strings.Contains(err.Error(), "SourceOptions.Client") {
		t.Errorf("Check without a server: %v", err)
	}
	if _, err := s.Subscribe(t.Context(), "orders"); err == nil || !strings.Contains(err.Error(), "SourceOptions.Client") {
		t.Errorf("Subscribe without a server: %v", err)
	}
	if err := sink.Publish("orders", message.NewMessage("1", nil)); err == nil || !strings.Contains(err.Error(), "SinkOptions.Client") {
		t.Errorf("Publish without a server: %v", err)
	}
	if s.Retention() != 14*24*time.Hour {
		t.Errorf("retention %s", s.Retention())
	}
}
