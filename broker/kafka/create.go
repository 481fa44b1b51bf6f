package kafka

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/internal/flow"
)

// createTimeout bounds how long SubscribeInitialize waits for a broker.
const createTimeout = 30 * time.Second

// SubscribeInitialize implements message.SubscribeInitializer: it makes topic by
// NewTopic, and does not change an existing one. It returns when the topic can be used.
// If no broker answers for half a minute, the error matches consumer.ErrUnavailable.
func (s *Source) SubscribeInitialize(topic string) error {
	client, err := s.options.asker()
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(s.closing, createTimeout)
	defer cancel()
	ask := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, s.options.NewTopic.Partitions, s.options.NewTopic.Replicas
	ask.Topics = append(ask.Topics, t)
	ask.TimeoutMillis = int32(createTimeout.Milliseconds())
	answer, err := ask.RequestWith(ctx, patient{client})
	if err != nil {
		return fmt.Errorf("kafka: make topic %q: %w", topic, flow.Reach(err, "SourceOptions.Brokers"))
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("kafka: make topic %q: %w", topic, err)
		}
	}
	return nil
}
