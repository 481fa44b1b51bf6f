package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/broker/internal/flow"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/internal/sleep"
)

// checkTimeout bounds how long Check asks for limits, after a broker has answered.
const checkTimeout = 10 * time.Second

// Check implements consumer.Checker: topic must exist, handlers must have enough time
// when a partition is revoked, and the group's settings must be within the brokers'
// limits, if these are readable. Kafka redelivers a record without a limit, so
// Demands.Deliveries is met. If no broker answers, the error matches
// consumer.ErrUnavailable.
func (s *Source) Check(ctx context.Context, topic string, d consumer.Demands) error {
	if err := s.demand(topic, d); err != nil {
		return err
	}
	client, err := s.options.asker()
	if err != nil {
		return fmt.Errorf("kafka: %w", err)
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(ctx, checkTimeout)
	defer cancel()
	broker, err := find(ctx, client, topic)
	if err != nil {
		return err
	}
	if err := s.checkSession(ctx, client, broker); err != nil {
		return err
	}
	return s.checkRetention(ctx, client, topic)
}

// demand compares the options with the handlers' demands, and stores them for Subscribe.
func (s *Source) demand(topic string, d consumer.Demands) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := max(s.ackWait[topic], d.AckWait)
	if r := s.options.RebalanceTimeout; r > 0 && r <= longest {
		return fmt.Errorf("kafka: option RebalanceTimeout is %s, and a delivery may be held for %s (its runs of at most %s, and their commit): "+
			"make it longer, or leave it 0", r, longest, d.HandlerTimeout)
	}
	s.ackWait[topic] = longest
	return nil
}

// missingGrace is how long a topic may be missing: a starting broker answers before it
// knows its topics.
const missingGrace = 5 * time.Second

var errMissing = errors.New("make it, or call SubscribeInitialize")

// find checks that topic exists, and returns one of the brokers.
func find(ctx context.Context, client kmsg.Requestor, topic string) (broker string, err error) {
	since := time.Now()
	for failures := 1; ; failures++ {
		broker, err = look(ctx, client, topic)
		if !errors.Is(err, errMissing) || time.Since(since) > missingGrace {
			return broker, err
		}
		if !sleep.For(ctx, backoff(failures)) {
			return "", err
		}
	}
}

// look is find without a retry.
func look(ctx context.Context, client kmsg.Requestor, topic string) (broker string, err error) {
	answer, err := describe(ctx, client, topic)
	if err != nil {
		return "", fmt.Errorf("kafka: ask for topic %q: %w", topic, flow.Reach(err, "SourceOptions.Brokers"))
	}
	for _, b := range answer.Brokers {
		broker = strconv.Itoa(int(b.NodeID))
	}
	for _, t := range answer.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return "", fmt.Errorf("kafka: topic %q does not exist: %w", topic, errMissing)
		case err != nil && !kerr.IsRetriable(err):
			return "", fmt.Errorf("kafka: ask for topic %q: %w", topic, err)
		}
	}
	return broker, nil
}

// checkSession compares the session timeout with the brokers' limits. If it may not read
// them, the group rejects a wrong one when the member joins.
func (s *Source) checkSession(ctx context.Context, client kmsg.Requestor, broker string) error {
	const least, most = "group.min.session.timeout.ms", "group.max.session.timeout.ms"
	values, err := settings(ctx, client, kmsg.ConfigResourceTypeBroker, broker, least, most)
	if err != nil {
		return nil
	}
	timeout := s.options.SessionTimeout
	if d, ok := values[least]; ok && timeout < d {
		return fmt.Errorf("kafka: option SessionTimeout is %s, and the brokers' %s is %s: make it longer", timeout, least, d)
	}
	if d, ok := values[most]; ok && timeout > d {
		return fmt.Errorf("kafka: option SessionTimeout is %s, and the brokers' %s is %s: make it shorter", timeout, most, d)
	}
	return nil
}
