package sqs

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	awssqs "github.com/aws/aws-sdk-go-v2/service/sqs"
	"github.com/aws/aws-sdk-go-v2/service/sqs/types"

	"github.com/headrace/headrace/consumer"
)

// askTime bounds the requests for data about a queue.
const askTime = 10 * time.Second

// limits are a queue's attributes. Missing ones are 0.
type limits struct {
	queue
	visibility  time.Duration
	retention   time.Duration
	maxReceives int // of its redrive policy
}

// limits reads the limits of the topic's queue.
func (s *Source) limits(ctx context.Context, topic string) (limits, error) {
	q, err := resolve(ctx, s.o.Client, s.o.Queue(topic))
	if err != nil {
		return limits{}, err
	}
	out, err := s.o.Client.GetQueueAttributes(ctx, &awssqs.GetQueueAttributesInput{
		QueueUrl: &q.url, AttributeNames: []types.QueueAttributeName{types.QueueAttributeNameAll},
	})
	if err != nil {
		return limits{}, fmt.Errorf("ask queue %q for its attributes (permission sqs:GetQueueAttributes): %w", q.name, err)
	}
	l := limits{queue: q, visibility: seconds(out.Attributes, types.QueueAttributeNameVisibilityTimeout),
		retention: seconds(out.Attributes, types.QueueAttributeNameMessageRetentionPeriod)}
	if s.o.Visibility != 0 {
		l.visibility = s.o.Visibility
	}
	l.maxReceives = maxReceives(out.Attributes[string(types.QueueAttributeNameRedrivePolicy)])
	return l, nil
}

func seconds(attributes map[string]string, name types.QueueAttributeName) time.Duration {
	n, _ := strconv.Atoi(attributes[string(name)])
	return time.Duration(n) * time.Second
}

// maxReceives reads a redrive policy, in which the number may be text.
func maxReceives(policy string) int {
	var p struct {
		Max json.RawMessage `json:"maxReceiveCount"`
	}
	if json.Unmarshal([]byte(policy), &p) != nil {
		return 0
	}
	n, _ := strconv.Atoi(strings.Trim(string(p.Max), `"`))
	return n
}

// Check compares the limits of the topic's queue with the consumer's demands. It reads
// the queue's attributes from SQS (permission sqs:GetQueueAttributes).
func (s *Source) Check(ctx context.Context, topic string, d consumer.Demands) error {
	ctx, cancel := context.WithTimeout(ctx, askTime)
	defer cancel()
	l, err := s.limits(ctx, topic)
	if err == nil {
		err = l.check(d, s.o)
	}
	if err != nil {
		return fmt.Errorf("sqs: %w", reach(err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.wanted[topic] = min(d.InFlight, flightMost)
	return nil
}

// usable returns an error if the queue cannot be used at all, or nil.
func (l limits) usable() error {
	if l.visibility < time.Second {
		return fmt.Errorf("queue %q has VisibilityTimeout 0, so every message would be given again at once: set it to 30, or SourceOptions.Visibility", l.name)
	}
	return nil
}

func (l limits) check(d consumer.Demands, o SourceOptions) error {
	if err := l.usable(); err != nil {
		return err
	}
	switch {
	case o.UnsafeNoHeartbeat && l.visibility < d.AckWait:
		return fmt.Errorf("queue %q gives a message to others after %s, and a handler may keep it for %s: raise VisibilityTimeout or SourceOptions.Visibility, lower the handler's timeout, or leave UnsafeNoHeartbeat", l.name, l.visibility, d.AckWait)
	case d.AckWait > holdMost:
		return fmt.Errorf("a handler may keep a message for %s, and SQS lets no receiver keep one for more than %s: lower the handler's timeout, or take the message into the backlog first", d.AckWait, holdMost)
	case l.maxReceives != 0 && l.maxReceives < d.Deliveries && !o.UnsafeRedrivePolicy:
		return fmt.Errorf("queue %q moves a message to its dead-letter queue after maxReceiveCount %d, and deaths of the process and outages may use up %d: raise it, remove the RedrivePolicy, since headrace keeps the dead letters, or set SourceOptions.UnsafeRedrivePolicy", l.name, l.maxReceives, d.Deliveries)
	case l.retention > o.Retention:
		return fmt.Errorf("queue %q keeps messages for %s, longer than SourceOptions.Retention %s, which the inbox was told: raise the option", l.name, l.retention, o.Retention)
	case l.retention != 0 && l.retention < d.AckWait:
		return fmt.Errorf("queue %q removes messages after MessageRetentionPeriod %s, and a handler may keep one for %s: raise it", l.name, l.retention, d.AckWait)
	}
	return nil
}
