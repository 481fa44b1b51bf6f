package kafka

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace"
)

// SinkOptions say how a Sink works. A field that is zero has the default that its comment
// names.
type SinkOptions struct {
	// Brokers are some of the cluster's addresses, host:port. Required.
	Brokers []string
	// Key returns the record's key; "" gives it none, and any partition. Default: the
	// order key of the event that the relay publishes; that of a Watermill message which
	// headrace did not make is what headrace.ArrivalFrom finds in its context.
	Key func(topic string, m *message.Message) string
	// Timeout is how long a record may be on its way before its publishing fails; Publish
	// returns a second later at the latest. One that was sent and not answered fails with
	// ErrUnanswered, and the client goes on sending it until it is answered or the Sink
	// closes. Default 15 s, at least 1 s; less than the relay's PublishTimeout.
	Timeout time.Duration
	// MaxMessageBytes is the size above which a message is refused without being sent.
	// Larger than what the topic allows (max.message.bytes), it makes the broker refuse
	// batches in which no message is too large. Default 1000012, Kafka's own.
	MaxMessageBytes int32
	// Client are further options of the client, as kgo.SASL, kgo.DialTLSConfig and
	// kgo.ProducerBatchCompression. Those that the Sink sets itself are refused.
	Client []kgo.Opt

	// UnsafeAcks lets Client ask fewer than all in-sync replicas (kgo.RequiredAcks): what
	// Publish confirmed is lost with the broker that had it. It needs UnsafeNotIdempotent,
	// and kgo.DisableIdempotentWrite, beside it.
	UnsafeAcks bool
	// UnsafeNotIdempotent lets Client turn idempotence off (kgo.DisableIdempotentWrite): a
	// network that loses an answer then doubles a record and turns two around.
	UnsafeNotIdempotent bool
}

// Sink is a Watermill Publisher. It is safe for concurrent use.
type Sink struct {
	client  *kgo.Client
	timeout time.Duration
	key     func(topic string, m *message.Message) string

	mu     sync.RWMutex // held for reading while records are given to the client
	closed bool
}

// NewSink returns a Sink. It connects to nothing yet; an error names the option that
// cannot be.
func NewSink(o SinkOptions) (*Sink, error) {
	if err := o.validate(); err != nil {
		return nil, fmt.Errorf("kafka: sink: %w", err)
	}
	timeout := cmp.Or(o.Timeout, 15*time.Second)
	opts := append([]kgo.Opt{
		kgo.ClientID("headrace"), kgo.SeedBrokers(o.Brokers...), kgo.MetadataMinAge(250 * time.Millisecond), kgo.RetryBackoffFn(backoff),
		// A call of Publish waits for its records, so nothing is won by waiting for more.
		kgo.ProducerLinger(0), kgo.UnknownTopicRetries(2),
	}, o.Client...)
	client, err := kgo.NewClient(append(opts,
		kgo.RecordDeliveryTimeout(timeout),
		kgo.ProducerBatchMaxBytes(cmp.Or(o.MaxMessageBytes, 1000012)))...)
	if err != nil {
		return nil, fmt.Errorf("kafka: sink: make a client: %w", err)
	}
	s := &Sink{client: client, timeout: timeout, key: o.Key}
	if s.key == nil {
		s.key = func(_ string, m *message.Message) string { return headrace.ArrivalFrom(m.Context()).OrderKey }
	}
	return s, nil
}

func (o SinkOptions) validate() error {
	if err := checkBrokers(o.Brokers); err != nil {
		return err
	}
	if o.MaxMessageBytes < 0 || o.Timeout > 0 && o.Timeout < time.Second {
		return fmt.Errorf("option Timeout is %s and MaxMessageBytes %d: at least 1s and 0, which gives the default", o.Timeout, o.MaxMessageBytes)
	}
	if err := checkTimes(map[string]time.Duration{"Timeout": o.Timeout}); err != nil {
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

// weakening are options that the user may set who says that it is unsafe.
var weakening = []owned{
	{"DisableIdempotentWrite", kgo.DisableIdempotentWrite, "records can be doubled and turned around; UnsafeNotIdempotent allows it"},
	{"AllowIdempotentProduceCancellation", kgo.AllowIdempotentProduceCancellation, "records can be doubled; UnsafeNotIdempotent allows it"},
}

// checkAcks refuses options that ask too few replicas.
func (o SinkOptions) checkAcks() error {
	if len(o.Client) == 0 {
		return nil
	}
	// An idempotent client with fewer acks cannot be made, and says so without naming
	// an option: this one is not.
	client, err := kgo.NewClient(append(slices.Clone(o.Client), kgo.DisableIdempotentWrite())...)
	if err != nil {
		return nil // something else is wrong, and refuse says what
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
// have every one of them, or after Timeout and a second. If they have not, the error is a
// *PublishError: the brokers have those that it does not name, and may have, or get, some
// that it names. Messages of one key and call stay in order. The end of a message's context
// ends its wait.
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

// Close fails what is published from now on, waits for what is on its way, for twice
// Timeout at most, and ends the connections. It may be called again.
func (s *Sink) Close() error {
	s.mu.Lock()
	was := s.closed
	s.closed = true
	s.mu.Unlock()
	if was {
		return nil
	}
	// What cannot be sent ends with its Timeout, what is not answered here.
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
	// Topic is where they were to go.
	Topic string
	// Errors has one entry for each message of the call, in their order; nil for those
	// that the brokers confirmed. They match the errors of franz-go's package kerr.
	Errors []error
}

// Error tells how many failed, and why the first did.
func (e *PublishError) Error() string {
	failed := e.Unwrap()
	if len(e.Errors) == 1 {
		return fmt.Sprintf("kafka: publish to %q: %v", e.Topic, advised("SinkOptions.Brokers", failed[0]))
	}
	return fmt.Sprintf("kafka: publish to %q: %d of %d messages failed, the first with: %v",
		e.Topic, len(failed), len(e.Errors), advised("SinkOptions.Brokers", failed[0]))
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
