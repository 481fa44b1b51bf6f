package kafka

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// TopicRetention is the longest time for which the source can deliver a record of topic
// again: the option, or what the brokers say. 0, which means that nobody knows, where the
// topic keeps records for ever, or the brokers do not say within ten seconds.
func (s *Source) TopicRetention(topic string) time.Duration {
	if s.options.Retention > 0 {
		return s.options.Retention
	}
	s.mu.Lock()
	known, asked := s.retention[topic]
	s.mu.Unlock()
	if asked {
		return known
	}
	kept, err := s.askRetention(topic)
	if err != nil {
		s.options.Logger.Info("how long a topic keeps records is not known, so nothing is pruned", "topic", topic, "error", err)
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.retention[topic] = kept
	return kept
}

// askRetention asks for the retention of topic; 0 is for ever.
func (s *Source) askRetention(topic string) (time.Duration, error) {
	client, stop, err := s.options.ask()
	if err != nil {
		return 0, err
	}
	defer stop()
	ctx, cancel := context.WithTimeout(s.closing, 10*time.Second)
	defer cancel()
	return retention(ctx, client, topic)
}

// checkRetention compares the option, where it is set, with the topic.
func (s *Source) checkRetention(ctx context.Context, client kmsg.Requestor, topic string) error {
	said := s.options.Retention
	if said == 0 {
		return nil
	}
	kept, err := retention(ctx, client, topic)
	switch {
	case err != nil: // who may not ask is believed
		return nil
	case kept == 0:
		return fmt.Errorf("kafka: option Retention is %s, and topic %q keeps records for ever: set the topic's retention, or leave the option 0", said, topic)
	case kept > said:
		return fmt.Errorf("kafka: option Retention is %s, and topic %q keeps a record for up to %s (retention.ms, segment.ms and %s): make it longer",
			said, topic, kept, slack)
	}
	return nil
}

// slack is how late a broker may be with removing what is too old.
const slack = time.Hour

// retention is how long topic keeps a record at the longest; 0 for ever. A segment goes
// as a whole, when the newest record in it is too old.
func retention(ctx context.Context, client kmsg.Requestor, topic string) (time.Duration, error) {
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
func settings(ctx context.Context, client kmsg.Requestor, kind kmsg.ConfigResourceType, name string, names ...string) (map[string]time.Duration, error) {
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
