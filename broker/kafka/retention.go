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
// again: the option, or the brokers' setting. It is 0, which means unknown, if the topic
// keeps records for ever, or no broker answers within four seconds.
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

// askRetention reads the retention of topic; 0 is for ever.
func (s *Source) askRetention(topic string) (time.Duration, error) {
	client, err := s.options.asker()
	if err != nil {
		return 0, err
	}
	defer client.Close()
	ctx, cancel := context.WithTimeout(s.closing, answerTime)
	defer cancel()
	return retention(ctx, client, topic)
}

// checkRetention compares the option, if set, with the topic.
func (s *Source) checkRetention(ctx context.Context, client kmsg.Requestor, topic string) error {
	said := s.options.Retention
	if said == 0 {
		return nil
	}
	kept, err := retention(ctx, client, topic)
	switch {
	case err != nil: // without permission the option is believed
		return nil
	case kept == 0:
		return fmt.Errorf("kafka: option Retention is %s, and topic %q keeps records for ever: set the topic's retention, or leave the option 0", said, topic)
	case kept > said:
		return fmt.Errorf("kafka: option Retention is %s, and topic %q keeps a record for up to %s (retention.ms, segment.ms and %s): make it longer",
			said, topic, kept, slack)
	}
	return nil
}

// slack is how late a broker may be with removing old records.
const slack = time.Hour

// retention is the longest time that topic keeps a record; 0 for ever. A segment is
// removed as a whole, when its newest record is too old.
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

// settings reads settings in milliseconds. A compacted topic keeps records for ever
// (retention 0); values that are not numbers are left out.
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

// milliseconds bounds n to the range of a Duration.
func milliseconds(n int64) time.Duration {
	const most = int64(100 * 365 * 24 * time.Hour / time.Millisecond)
	return time.Duration(min(n, most)) * time.Millisecond
}
