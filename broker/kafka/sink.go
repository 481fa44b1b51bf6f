package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/internal/flow"
)

// SinkOptions configure a Sink. A zero field has the default that its comment names.
type SinkOptions struct {
	// Brokers are some of the cluster's addresses, host:port. Required.
	Brokers []string
	// Key returns the record's key; "" means none, and any partition. Default: the order
	// key of the event that the relay publishes; for other Watermill messages, that of
	// headrace.ArrivalFrom on the message's context.
	Key func(topic string, m *message.Message) string
	// Timeout is how long a record may take before its publishing fails; Publish returns
	// at most a second later. A record that was sent but not answered fails with
	// ErrUnanswered, and the client continues to send it until it is answered or the Sink
	// closes. 1 s to 1 h, default 15 s; less than the relay's PublishTimeout.
	Timeout time.Duration
	// MaxMessageBytes is the size above which a message fails without being sent. If it
	// is larger than the topic's limit (max.message.bytes), the broker refuses batches in
	// which no message is too large. Default 1000012, Kafka's own.
	MaxMessageBytes int32
	// Client are further options of the client, such as kgo.SASL, kgo.DialTLSConfig and
	// kgo.ProducerBatchCompression. An option that the Sink sets itself is an error.
	Client []kgo.Opt

	// UnsafeAcks lets Client require fewer than all in-sync replicas (kgo.RequiredAcks):
	// confirmed messages are lost with the broker that had them. It also needs
	// UnsafeNotIdempotent and kgo.DisableIdempotentWrite.
	UnsafeAcks bool
	// UnsafeNotIdempotent lets Client turn idempotence off (kgo.DisableIdempotentWrite):
	// if the network loses an answer, a record may be doubled and two may change places.
	UnsafeNotIdempotent bool
}

// Sink is a Watermill Publisher. It is safe for concurrent use.
type Sink struct {
	client  *kgo.Client
	brokers []string
	timeout time.Duration
	key     func(topic string, m *message.Message) string

	mu     sync.RWMutex // held for reading while records are passed to the client
	closed bool
}

// NewSink returns a Sink. It does not connect; the first Publish does. The error names
// the invalid option.
func NewSink(o SinkOptions) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("kafka: sink: %w", err)
	}
	timeout := cmp.Or(o.Timeout, 15*time.Second)
	opts := append([]kgo.Opt{
		kgo.ClientID("headrace"), kgo.SeedBrokers(o.Brokers...), kgo.MetadataMinAge(250 * time.Millisecond), kgo.RetryBackoffFn(backoff),
		// A call of Publish waits for its records, so lingering gains nothing.
		kgo.ProducerLinger(0), kgo.UnknownTopicRetries(2),
	}, o.Client...)
	client, err := kgo.NewClient(append(opts,
		kgo.RecordDeliveryTimeout(timeout),
		kgo.ProducerBatchMaxBytes(cmp.Or(o.MaxMessageBytes, 1000012)))...)
	if err != nil {
		return nil, fmt.Errorf("kafka: sink: make a client: %w", err)
	}
	s := &Sink{client: client, brokers: slices.Sorted(slices.Values(o.Brokers)), timeout: timeout, key: o.Key}
	if s.key == nil {
		s.key = func(_ string, m *message.Message) string { return headrace.ArrivalFrom(m.Context()).OrderKey }
	}
	return s, nil
}

// SinkID identifies the cluster, for the relay, by SinkOptions.Brokers.
func (s *Sink) SinkID() string { return "kafka:" + strings.Join(s.brokers, ",") }

func (o SinkOptions) validate() error {
	if err := checkBrokers(o.Brokers); err != nil {
		return err
	}
	if o.MaxMessageBytes < 0 {
		return fmt.Errorf("option MaxMessageBytes is negative (%d): 0 gives the default", o.MaxMessageBytes)
	}
	if err := flow.Times(flow.Time{Name: "Timeout", Value: o.Timeout, Least: time.Second}); err != nil {
		return err
	}
	if err := o.checkAcks(); err != nil {
		return err
	}
	list := ownedBySink
	if !o.UnsafeNotIdempotent {
		list = append(slices.Clone(list), weakening...)
	}
	return refuse(o.Client, list)
}

// weakening are options that need UnsafeNotIdempotent.
var weakening = []owned{
	{"DisableIdempotentWrite", kgo.DisableIdempotentWrite, "records can be doubled and turned around; UnsafeNotIdempotent allows it"},
	{"AllowIdempotentProduceCancellation", kgo.AllowIdempotentProduceCancellation, "records can be doubled; UnsafeNotIdempotent allows it"},
}

// checkAcks rejects options that require too few replicas.
func (o SinkOptions) checkAcks() error {
	if len(o.Client) == 0 {
		return nil
	}
	// An idempotent client with fewer acks cannot be made, and its error names no option,
	// so this one is not idempotent.
	client, err := kgo.NewClient(append(slices.Clone(o.Client), kgo.DisableIdempotentWrite())...)
	if err != nil {
		return nil // another option is wrong; refuse names it
	}
	defer client.Close()
	switch {
	case client.OptValue(kgo.RequiredAcks) == any(kgo.AllISRAcks()):
		return nil
	case !o.UnsafeAcks:
		return errors.New("option Client sets kgo.RequiredAcks: confirmed messages can be lost unless all in-sync replicas have them; UnsafeAcks allows it")
	case !o.UnsafeNotIdempotent:
		return errors.New("option Client sets kgo.RequiredAcks, and Kafka is idempotent only where all in-sync replicas are asked: " +
			"UnsafeAcks needs UnsafeNotIdempotent and kgo.DisableIdempotentWrite beside it")
	}
	return nil
}

// Publish publishes messages to topic, together, and returns when all in-sync replicas
// have every one of them, or after Timeout and a second. Otherwise the error is a
// *PublishError: the brokers have the messages that it does not name, and may have, or
// get, some that it names. Messages of one key and call stay in order. The end of a
// message's context ends its wait.
func (s *Sink) Publish(topic string, messages ...*message.Message) error {
	c := newCall(len(messages))
	ctx, cancel := context.WithTimeout(context.Background(), s.timeout+answerGrace)
	defer cancel()
	s.mu.RLock()
	if s.closed {
		s.mu.RUnlock()
		return fmt.Errorf("kafka: publish to %q: %w", topic, ErrClosed)
	}
	for i, m := range messages {
		r := marshal(topic, s.key(topic, m), m)
		r.Context = m.Context()
		s.client.Produce(ctx, r, func(_ *kgo.Record, err error) { c.answer(i, err) })
	}
	s.mu.RUnlock()
	if failed := c.wait(ctx, messages); failed != nil {
		return &PublishError{Topic: topic, Errors: failed}
	}
	return nil
}

// Close makes later calls of Publish fail, waits for records under way, for at most twice
// Timeout, and closes the connections. It may be called again.
func (s *Sink) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	// Unsent records end with their Timeout; unanswered ones end here.
	ctx, cancel := context.WithTimeout(context.Background(), 2*s.timeout)
	defer cancel()
	err := s.client.Flush(ctx)
	s.client.Close()
	if err != nil {
		return fmt.Errorf("kafka: close sink: %w", err)
	}
	return nil
}

// PublishError says which messages of a call of Publish failed.
type PublishError struct {
	// Topic is the topic of the call.
	Topic string
	// Errors has one entry for each message of the call, in their order; nil for those
	// that the brokers confirmed. They match the errors of franz-go's package kerr.
	Errors []error
}

// Error says how many failed, and the error of the first.
func (e *PublishError) Error() string {
	failed := e.Unwrap()
	if len(e.Errors) == 1 {
		return fmt.Sprintf("kafka: publish to %q: %v", e.Topic, flow.Reach(failed[0], "SinkOptions.Brokers"))
	}
	return fmt.Sprintf("kafka: publish to %q: %d of %d messages failed, the first with: %v",
		e.Topic, len(failed), len(e.Errors), flow.Reach(failed[0], "SinkOptions.Brokers"))
}

// Unwrap returns the errors of the messages that failed.
func (e *PublishError) Unwrap() (list []error) {
	for _, err := range e.Errors {
		if err != nil {
			list = append(list, err)
		}
	}
	return list
}
