package amqp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/headrace/headrace/internal/sleep"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/broker/internal/flow"
)

// limits are the broker's limits for deliveries.
type limits struct {
	deliveries int           // 0: unknown, Unlimited: none
	timeout    time.Duration // 0: the broker's own
	losses     string        // how it loses messages; "": not, or unknown
	stream     bool          // it is a stream
}

// queueInfo is the management API's data about a queue.
type queueInfo struct {
	Type       string          `json:"type"`
	Durable    bool            `json:"durable"`
	AutoDelete bool            `json:"auto_delete"`
	Exclusive  bool            `json:"exclusive"`
	Arguments  json.RawMessage `json:"arguments"` // an empty array if there are none; so is Policy
	Policy     json.RawMessage `json:"effective_policy_definition"`
}

// bounds are the limits in the arguments or the policy of a queue.
type bounds struct {
	DeliveryLimit   *int   `json:"delivery-limit"`
	ConsumerTimeout *int64 `json:"consumer-timeout"` // milliseconds

	ArgumentLimit   *int   `json:"x-delivery-limit"`
	ArgumentTimeout *int64 `json:"x-consumer-timeout"`
}

// policyPause is the pause before asking for a policy again. The API has it seconds after
// the queue is made.
const policyPause = 250 * time.Millisecond

// ask reads the limits of a queue from the management API, and waits up to Server.Timeout
// for the queue's policy.
func (s *Source) ask(ctx context.Context, queue string, v version) (limits, error) {
	ctx, cancel := context.WithTimeout(ctx, s.o.Timeout)
	defer cancel()
	info, err := s.read(ctx, queue)
	for err == nil && info.Policy == nil && sleep.For(ctx, policyPause) {
		var next queueInfo
		if next, err = s.read(ctx, queue); err == nil {
			info = next
		} else if ctx.Err() != nil {
			err = nil // use the earlier answer
		}
	}
	if err != nil {
		return limits{}, err
	}
	if info.Policy == nil {
		s.o.Logger.Warn("amqp: the management API does not tell the policy of a queue; only its arguments are looked at", "queue", queue)
	}
	return info.limits(v)
}

// read reads the management API's data about a queue.
func (s *Source) read(ctx context.Context, queue string) (queueInfo, error) {
	uri, err := amqp091.ParseURI(s.o.URL)
	if err != nil {
		return queueInfo{}, flow.WithoutURL(err)
	}
	target := strings.TrimRight(s.o.Management, "/") + "/api/queues/" + url.PathEscape(uri.Vhost) + "/" + url.PathEscape(queue)
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, target, nil)
	if err != nil {
		return queueInfo{}, flow.WithoutURL(err)
	}
	once := &http.Transport{DisableKeepAlives: true} // it is used only at start
	answer, err := (&http.Client{Transport: once}).Do(request)
	if err != nil {
		return queueInfo{}, flow.WithoutURL(err)
	}
	defer func() { _ = answer.Body.Close() }() // it was read
	if answer.StatusCode != http.StatusOK {
		return queueInfo{}, fmt.Errorf("it answers %s", answer.Status)
	}
	var info queueInfo
	if err := json.NewDecoder(io.LimitReader(answer.Body, 1<<20)).Decode(&info); err != nil {
		return queueInfo{}, fmt.Errorf("read its answer: %w", err)
	}
	return info, nil
}

func (i queueInfo) limits(v version) (limits, error) {
	found := limits{deliveries: Unlimited, stream: i.Type == string(streamKind)}
	if i.Type == string(Quorum) && v.limits() {
		found.deliveries = defaultDeliveryLimit
	}
	var arguments, policy bounds
	losses, err := i.losses()
	if err := errors.Join(err, object(i.Arguments, &arguments), object(i.Policy, &policy)); err != nil {
		return limits{}, fmt.Errorf("read its answer: %w", err)
	}
	found.losses = losses
	if i.Type == string(Quorum) {
		if n, set := least(arguments.ArgumentLimit, policy.DeliveryLimit); set {
			found.deliveries = max(n, Unlimited)
		}
	}
	if ms, set := least(arguments.ArgumentTimeout, policy.ConsumerTimeout); set {
		found.timeout = time.Duration(ms) * time.Millisecond
	}
	return found, nil
}

// object decodes an object, or the empty array that the API returns for one without
// members.
func object(raw json.RawMessage, into any) error {
	if len(raw) == 0 || raw[0] != '{' {
		return nil
	}
	return json.Unmarshal(raw, into)
}

// least is the effective limit of an argument and a policy: the lower one. A negative one
// means none.
func least[T int | int64](a, b *T) (T, bool) {
	switch {
	case a == nil && b == nil:
		return 0, false
	case a == nil || b != nil && *a < 0:
		return *b, true
	case b == nil || *b < 0:
		return *a, true
	}
	return min(*a, *b), true
}
