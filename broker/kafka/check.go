package kafka

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/consumer"
)

// checkTimeout bounds how long Check waits for a broker.
const checkTimeout = 30 * time.Second

// Check implements consumer.Checker: topic must exist, a partition that is taken away
// must leave handlers the time that they need, and the group's settings must be within
// those of the brokers, where these tell. Kafka gives a record any number of times, so
// Demands.Deliveries hold.
func (s *Source) Check(ctx context.Context, topic string, d consumer.Demands) error {
	if err := s.demand(topic, d); err != nil {
		return err
	}
	client, err := kgo.NewClient(s.options.admin()...)
	if err != nil {
		return fmt.Errorf("kafka: make a client: %w", err)
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
	kept, err := retention(ctx, client, topic)
	if err != nil {
		s.options.Logger.Info("the topic's retention is not known; set SourceOptions.Retention for records of old messages to be pruned",
			"topic", topic, "error", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retention[topic] = kept
	return nil
}

// demand compares the options with what the handlers need, and keeps it for Subscribe.
func (s *Source) demand(topic string, d consumer.Demands) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	longest := max(s.hold[topic], d.Hold)
	if r := s.options.RebalanceTimeout; r > 0 && r <= longest {
		return fmt.Errorf("kafka: option RebalanceTimeout is %s, and a delivery may be held for %s (its runs of at most %s, and their commit): "+
			"make it longer, or leave it 0", r, longest, d.HandlerTimeout)
	}
	s.hold[topic] = longest
	return nil
}

// find looks that topic exists, and names one of the brokers.
func find(ctx context.Context, client *kgo.Client, topic string) (broker string, err error) {
	ask := kmsg.NewPtrMetadataRequest()
	t := kmsg.NewMetadataRequestTopic()
	t.Topic = kmsg.StringPtr(topic)
	ask.Topics = append(ask.Topics, t)
	answer, err := ask.RequestWith(ctx, client)
	if err != nil {
		return "", fmt.Errorf("kafka: ask for topic %q: %w", topic, err)
	}
	for _, b := range answer.Brokers {
		broker = strconv.Itoa(int(b.NodeID))
	}
	for _, t := range answer.Topics {
		err := kerr.ErrorForCode(t.ErrorCode)
		switch {
		case errors.Is(err, kerr.UnknownTopicOrPartition):
			return "", fmt.Errorf("kafka: topic %q does not exist: make it, or call SubscribeInitialize", topic)
		case err != nil && !kerr.IsRetriable(err):
			return "", fmt.Errorf("kafka: ask for topic %q: %w", topic, err)
		}
	}
	return broker, nil
}

// checkSession compares the session timeout with what the brokers allow. A member that
// may not ask is told when it joins.
func (s *Source) checkSession(ctx context.Context, client *kgo.Client, broker string) error {
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

// slack is how late a broker may be with removing what is too old.
const slack = time.Hour

// retention is how long topic keeps a record at the longest; 0 for ever. A segment goes
// as a whole, when the newest record in it is too old.
func retention(ctx context.Context, client *kgo.Client, topic string) (time.Duration, error) {
	const keep, segment = "retention.ms", "segment.ms"
	values, err := settings(ctx, client, kmsg.ConfigResourceTypeTopic, topic, keep, segment, "cleanup.policy")
	if err != nil {
		return 0, err
	}
	if values[keep] <= 0 || values[segment] <= 0 {
		return 0, nil
	}
	return values[keep] + values[segment] + slack, nil
}

// settings asks for settings in milliseconds. One that compacts has kept records for ever
// (retention 0); what is no number is left out.
func settings(ctx context.Context, client *kgo.Client, kind kmsg.ConfigResourceType, name string, names ...string) (map[string]time.Duration, error) {
	ask := kmsg.NewPtrDescribeConfigsRequest()
	r := kmsg.NewDescribeConfigsRequestResource()
	r.ResourceType, r.ResourceName, r.ConfigNames = kind, name, names
	ask.Resources = append(ask.Resources, r)
	answer, err := ask.RequestWith(ctx, client)
	if err != nil {
		return nil, fmt.Errorf("ask for settings: %w", err)
	}
	values := make(map[string]time.Duration)
	for _, r := range answer.Resources {
		if err := kerr.ErrorForCode(r.ErrorCode); err != nil {
			return nil, fmt.Errorf("ask for settings: %w", err)
		}
		compacts := false
		for _, c := range r.Configs {
			if c.Value == nil {
				continue
			}
			if n, err := strconv.ParseInt(*c.Value, 10, 64); err == nil {
				values[c.Name] = milliseconds(n)
			}
			compacts = compacts || c.Name == "cleanup.policy" && *c.Value != "delete"
		}
		if compacts {
			values["retention.ms"] = 0
		}
	}
	return values, nil
}

// milliseconds bounds n to what a Duration holds.
func milliseconds(n int64) time.Duration {
	const most = int64(100 * 365 * 24 * time.Hour / time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}
