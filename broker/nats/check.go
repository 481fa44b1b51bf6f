package nats

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/headrace/headrace/consumer"
)

// lookTime bounds the requests to the server at start.
const lookTime = 10 * time.Second

var _ consumer.Checker = (*Source)(nil)

// Check implements consumer.Checker: it compares the configuration of the stream and the
// consumer on the server with the handler's demands. If there is no consumer yet, the
// Source makes a suitable one. If the server is away or does not answer, the error matches
// consumer.ErrUnavailable.
func (s *Source) Check(ctx context.Context, topic string, d consumer.Demands) error {
	ctx, cancel := context.WithTimeout(ctx, lookTime)
	defer cancel()
	config, err := s.existing(ctx, topic)
	if err != nil || config == nil {
		return s.link.reason(ctx, err)
	}
	if config.MaxDeliver > 0 && config.MaxDeliver < d.Deliveries {
		return fmt.Errorf("NATS consumer %q has MaxDeliver %d: the server would drop messages silently, since deaths of processes and outages count; set it to -1, or to %d at least",
			config.Durable, config.MaxDeliver, d.Deliveries)
	}
	return nil
}

// existing returns the configuration of the consumer on the server for topic; nil if
// there is none.
func (s *Source) existing(ctx context.Context, topic string) (*jetstream.ConsumerConfig, error) {
	if err := checkSubject(topic, true); err != nil {
		return nil, err
	}
	if err := s.link.answers(ctx); err != nil {
		return nil, err
	}
	st, err := s.finder.find(ctx, topic)
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	c, err := st.Consumer(ctx, consumerName(s.o.Durable, topic))
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	config := c.CachedInfo().Config
	if err := s.acceptable(config, topic, st.CachedInfo().Config); err != nil {
		return nil, err
	}
	return &config, s.permitted(ctx, st.CachedInfo().Config.Name, config.Durable)
}

// acceptable returns an error if messages of topic cannot be received from a consumer
// with configuration c.
func (s *Source) acceptable(c jetstream.ConsumerConfig, topic string, st jetstream.StreamConfig) error {
	name := c.Durable
	filters := c.FilterSubjects
	if c.FilterSubject != "" {
		filters = append(filters, c.FilterSubject)
	}
	if len(filters) == 0 {
		filters = st.Subjects
	}
	switch {
	case !slices.Equal(filters, []string{topic}):
		return fmt.Errorf("NATS consumer %q is for the subjects %q, not for %q: remove it, or choose another option Durable", name, filters, topic)
	case c.AckPolicy != jetstream.AckExplicitPolicy:
		return fmt.Errorf("NATS consumer %q has AckPolicy %s, under which messages are lost: it must be explicit", name, c.AckPolicy)
	case c.HeadersOnly:
		return fmt.Errorf("NATS consumer %q has HeadersOnly, so that handlers would be given empty payloads: set it to false", name)
	case s.o.AckWait != 0 && s.o.AckWait != c.AckWait:
		return fmt.Errorf("NATS consumer %q has AckWait %s, the option AckWait says %s: change one of them", name, c.AckWait, s.o.AckWait)
	case ackWait(c) < leastAckWait:
		return fmt.Errorf("NATS consumer %q gives messages to another process after %s (AckWait or BackOff): below %s a short silence would already count as death", name, ackWait(c), leastAckWait)
	}
	return nil
}

// ackWait is how long the server waits for an answer about a message.
func ackWait(c jetstream.ConsumerConfig) time.Duration {
	if len(c.BackOff) > 0 {
		return slices.Min(c.BackOff)
	}
	return c.AckWait
}

// ready returns the stream and the consumer of topic, and makes missing ones if allowed.
func (s *Source) ready(ctx context.Context, topic string) (jetstream.ConsumerConfig, jetstream.Stream, error) {
	var none jetstream.ConsumerConfig
	config, err := s.existing(ctx, topic)
	if err != nil {
		return none, nil, err
	}
	st, err := s.finder.find(ctx, topic)
	if err != nil {
		return none, nil, fmt.Errorf("topic %q: %w", topic, err)
	}
	if config != nil {
		return *config, st, nil
	}
	wait := s.o.AckWait
	if wait == 0 {
		wait = 30 * time.Second
	}
	c, err := st.CreateConsumer(ctx, jetstream.ConsumerConfig{
		Durable: consumerName(s.o.Durable, topic), Description: "headrace", FilterSubject: topic,
		DeliverPolicy: jetstream.DeliverAllPolicy, AckPolicy: jetstream.AckExplicitPolicy, AckWait: wait,
		MaxDeliver: -1, MaxAckPending: s.o.MaxAckPending, MaxRequestBatch: 0,
	})
	if errors.Is(err, jetstream.ErrConsumerExists) { // another process made it just now
		c, err = st.Consumer(ctx, consumerName(s.o.Durable, topic))
	}
	if err != nil {
		return none, nil, fmt.Errorf("topic %q: make the consumer: %w", topic, err)
	}
	return c.CachedInfo().Config, st, s.permitted(ctx, st.CachedInfo().Config.Name, c.CachedInfo().Config.Durable)
}
