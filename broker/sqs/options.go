package sqs

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/headrace/headrace/broker/internal/flow"
)

const (
	// batchMost is how many messages one request of SQS or SNS may contain.
	batchMost = 10
	// holdMost is how long SQS lets a receiver keep a message at most.
	holdMost = 12 * time.Hour
	// waitMost is SQS' longest wait of a receive.
	waitMost = 20 * time.Second
	// retentionMost is SQS' longest MessageRetentionPeriod.
	retentionMost = 14 * 24 * time.Hour
	// flightMost is SQS' limit on the messages in flight of one queue.
	flightMost = 120_000
)

// SourceOptions configure a Source. Only Client is required.
type SourceOptions struct {
	// Client is the SQS client.
	Client Client
	// Queue returns the name, the URL or the ARN of a topic's queue. Default: the topic
	// is the queue's name. The queue must exist.
	Queue func(topic string) string
	// Visibility is how long a received message is hidden from others, renewed while it
	// is in work: its work is delayed that long if this process dies. Whole seconds, at
	// least 1 s and at most 12 h. Default: the queue's VisibilityTimeout.
	Visibility time.Duration
	// InFlight is how many messages of a subscription may be received and not yet
	// settled, at most 120,000. Default: 512, or Demands.InFlight if that is more.
	InFlight int
	// MaxBytes is how many bytes of bodies and attributes a subscription may have received
	// and not yet settled. Each receive call asks for as many messages as are likely to
	// fit, so each Receiver may exceed it by one call. Default: 64 MiB.
	MaxBytes int64
	// Receivers is how many receive calls of a subscription may run at once; all but one
	// only while calls return full batches. Default 8.
	Receivers int
	// WaitTime is how long an idle receive call waits for a message; whole seconds, at
	// most 20 s. Default 20 s.
	WaitTime time.Duration
	// NackDelay is how long a nacked message stays hidden; whole seconds, at least 1 s,
	// so that failing messages do not come back at once. Default 1 s.
	NackDelay time.Duration
	// SNS says that bodies may be notifications that SNS has wrapped (a subscription
	// without raw message delivery); they are unwrapped, and other bodies are used
	// unchanged. Every sender with access to the queue itself can forge a notification.
	SNS bool
	// Retention is the longest MessageRetentionPeriod of the queues; Retention() declares
	// it to the inbox. Check rejects a queue with a longer one. Default: 14 days, SQS'
	// own limit.
	Retention time.Duration
	// CloseTimeout bounds the requests that write settlements when a subscription ends.
	// Default 10 s.
	CloseTimeout time.Duration
	// Logger logs outages and messages that SQS took back. Default: slog.Default().
	Logger *slog.Logger
	// UnsafeNoHeartbeat does not renew the visibility timeout, for credentials without
	// the permission sqs:ChangeMessageVisibility. Check then rejects a queue whose
	// timeout is below the handler's time.
	UnsafeNoHeartbeat bool
	// UnsafeRedrivePolicy accepts a queue whose maxReceiveCount is below what the consumer
	// may need, such as the common 3 to 5. A failed attempt takes no receive, but each death
	// of a process and each long outage of the database takes one of every message under
	// way. After so many SQS moves a message that may never have failed to the queue's own
	// dead-letter queue, where headrace does not see it: watch that queue, and move its
	// messages back, of which those that were applied are skipped.
	UnsafeRedrivePolicy bool
}

func (o SourceOptions) validate() error {
	times := []flow.Time{
		{Name: "SourceOptions.Visibility", Value: o.Visibility, Least: time.Second, Most: holdMost},
		{Name: "SourceOptions.WaitTime", Value: o.WaitTime, Least: time.Second, Most: waitMost},
		{Name: "SourceOptions.NackDelay", Value: o.NackDelay, Least: time.Second, Most: holdMost},
		{Name: "SourceOptions.Retention", Value: o.Retention, Least: time.Minute, Most: retentionMost},
	}
	if err := flow.Times(append(times, flow.Time{Name: "SourceOptions.CloseTimeout", Value: o.CloseTimeout})...); err != nil {
		return err
	}
	if i := slices.IndexFunc(times, func(d flow.Time) bool { return d.Value%time.Second != 0 }); i >= 0 {
		return fmt.Errorf("option %s is %s: SQS counts in whole seconds", times[i].Name, times[i].Value)
	}
	switch {
	case o.Client == nil:
		return errors.New("option SourceOptions.Client is missing: give the AWS SDK's sqs.NewFromConfig(…)")
	case o.InFlight < 0 || o.InFlight > flightMost:
		return fmt.Errorf("option SourceOptions.InFlight is %d: it may be 1 to %d, or 0 for the default", o.InFlight, flightMost)
	case o.MaxBytes < 0:
		return fmt.Errorf("option SourceOptions.MaxBytes is negative (%d): 0 gives the default", o.MaxBytes)
	case o.Receivers < 0 || o.Receivers > 64:
		return fmt.Errorf("option SourceOptions.Receivers is %d: it may be 1 to 64, or 0 for the default", o.Receivers)
	}
	return nil
}

func (o SourceOptions) withDefaults() SourceOptions {
	o.Queue = named(o.Queue)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
	o.Receivers = cmp.Or(o.Receivers, 8)
	o.WaitTime = cmp.Or(o.WaitTime, waitMost)
	o.NackDelay = cmp.Or(o.NackDelay, time.Second)
	o.Retention = cmp.Or(o.Retention, retentionMost)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, 10*time.Second)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}
