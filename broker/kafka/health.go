package kafka

import (
	"context"
	"errors"
	"fmt"

	"github.com/twmb/franz-go/pkg/kerr"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/outbox/relay"
)

var (
	_ consumer.HealthReporter = (*Source)(nil)
	_ relay.HealthReporter    = (*Sink)(nil)
)

// Healthy implements consumer.HealthReporter: the group must keep the member and take its
// offsets, and the topic and a leader of each partition must be there. The brokers are
// asked for these unless records have come within the last two seconds.
func (s *Source) Healthy(ctx context.Context, topic string) error { return s.subs.Healthy(ctx, topic) }

// Healthy implements flow.Reporter.
func (s *subscription) Healthy(ctx context.Context) error {
	if err := s.log.served.Err(ctx, s.ask); err != nil {
		return err
	}
	return s.log.commits.Err(ctx, nothing)
}

func nothing(context.Context) error { return nil }

// ask asks for the topic and its leaders, with the client of the current session.
func (s *subscription) ask(ctx context.Context) error {
	answer, err := describe(ctx, s.member.Load().client, s.topic)
	if err != nil {
		return flow.Reach(err, "SourceOptions.Brokers")
	}
	for _, t := range answer.Topics {
		failed := kerr.ErrorForCode(t.ErrorCode)
		for _, p := range t.Partitions {
			// A replica that is missing does not keep the leader from serving.
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil && !errors.Is(err, kerr.ReplicaNotAvailable) && failed == nil {
				failed = fmt.Errorf("partition %d: %w", p.Partition, err)
			}
		}
		if failed != nil {
			return fmt.Errorf("the brokers do not serve the topic: %w", failed)
		}
	}
	return nil
}

// Healthy implements relay.HealthReporter: a broker must answer.
func (s *Sink) Healthy(ctx context.Context) error {
	if _, err := describe(ctx, s.client); err != nil {
		return fmt.Errorf("kafka: %w", flow.Reach(err, "SinkOptions.Brokers"))
	}
	return nil
}
