package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/kafka"
	"github.com/headrace/headrace/tests/endtoend/story"
)

// connection is the wiring: where the broker is, and the source and the sink on it.
type connection struct {
	brokers []string
	log     *slog.Logger
}

func connect(address string, log *slog.Logger) story.Connection {
	return connection{[]string{address}, log}
}

// Source implements story.Connection: a member of a consumer group.
func (c connection) Source(group string) (message.Subscriber, error) {
	return kafka.NewSource(kafka.SourceOptions{
		Brokers: c.brokers, Group: group, Logger: c.log,
		CommitInterval: 200 * time.Millisecond, // so that the program sees soon that it is done
		SessionTimeout: 6 * time.Second,        // so that others go on soon for a worker that was killed
	})
}

// Sink implements story.Connection.
func (c connection) Sink() (message.Publisher, error) {
	return kafka.NewSink(kafka.SinkOptions{Brokers: c.brokers})
}

// Create implements story.Connection. Eight partitions are for up to eight workers.
func (c connection) Create(_ context.Context, topics ...string) error {
	s, err := kafka.NewSource(kafka.SourceOptions{
		Brokers: c.brokers, Group: "create-topics", Logger: c.log, NewTopic: kafka.NewTopic{Partitions: 8},
	})
	if err != nil {
		return err
	}
	return story.Initialize(s, topics)
}

// Remove implements story.Connection. The groups' offsets go with the topics.
func (c connection) Remove(ctx context.Context, topics ...string) error {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		return fmt.Errorf("remove topics: %w", err)
	}
	defer client.Close()
	ask := kmsg.NewPtrDeleteTopicsRequest()
	ask.TopicNames = topics // where the broker is older than names with ids
	for _, t := range topics {
		one := kmsg.NewDeleteTopicsRequestTopic()
		one.Topic = kmsg.StringPtr(t)
		ask.Topics = append(ask.Topics, one)
	}
	answer, err := ask.RequestWith(ctx, client)
	if err != nil {
		return fmt.Errorf("remove topics: %w", err)
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
			return fmt.Errorf("remove topics: %w", err)
		}
	}
	return nil
}
