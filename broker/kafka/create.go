package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// SubscribeInitialize implements message.SubscribeInitializer: it makes topic by
// NewTopic, and does not change an existing one. It returns when the topic can be used.
func (s *Source) SubscribeInitialize(topic string) error {
	client, stop, err := s.options.ask()
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer stop()
	ctx, cancel := context.WithTimeout(s.closing, checkTimeout)
	defer cancel()
	ask := kmsg.NewPtrCreateTopicsRequest()
	t := kmsg.NewCreateTopicsRequestTopic()
	t.Topic, t.NumPartitions, t.ReplicationFactor = topic, s.options.NewTopic.Partitions, s.options.NewTopic.Replicas
	ask.Topics = append(ask.Topics, t)
	ask.TimeoutMillis = int32(checkTimeout.Milliseconds())
	answer, err := ask.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("kafka: make topic %q: %w", topic, err)
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.TopicAlreadyExists) {
			return fmt.Errorf("kafka: make topic %q: %w", topic, err)
		}
	}
	return nil
}
