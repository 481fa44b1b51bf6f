package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"
)

// SourceOptions say how a Source works. A field that is zero has the default that its
// comment names.
type SourceOptions struct {
	// Brokers are some of the cluster's addresses, host:port. Required.
	Brokers []string
	// Group is the consumer group: its members share the partitions of a topic, and it
	// remembers how far they are. Required, and never to be changed while records are on
	// their way: another group begins at the oldest record.
	Group string

	// Window is how many records of a partition are handed over beyond the lowest that is
	// not settled; 1 hands over the next only after the one before. It bounds what comes
	// again after a crash. Default 1024.
	Window int
	// CommitInterval is how often positions are committed to the group. What was settled
	// since then comes again after a crash. Default 1 s.
	CommitInterval time.Duration
	// NackPause is the least time before a record that was given back is handed over
	// again. Nothing of its partition is meanwhile. Default 250 ms.
	NackPause time.Duration
	// CloseTimeout is how long Close, or the end of Subscribe's context, waits for what
	// was handed over; after half of it the messages' contexts end. Default 5 s.
	CloseTimeout time.Duration

	// SessionTimeout is how long the group waits for a member's heartbeat before it takes
	// it for dead; it must be within what the brokers allow. Default 45 s.
	SessionTimeout time.Duration
	// RebalanceTimeout is how long a member has to give a partition up that the group
	// takes away; handlers finish within. Default a minute, or one and a half times what
	// the consumer's handlers may hold a delivery for, if that is longer.
	RebalanceTimeout time.Duration

	// Retention is the longest time for which the topics keep a record, which TopicRetention
	// declares to the inbox; Check refuses a topic that keeps them longer. Default: what
	// the settings of each topic say.
	Retention time.Duration
	// NewTopic is what SubscribeInitialize makes.
	NewTopic NewTopic
	// Logger is told of outages, once each, and of what ends a subscription. Default:
	// slog.Default.
	Logger *slog.Logger
	// Client are further options of the client, as kgo.SASL and kgo.DialTLSConfig. Those
	// that the Source sets itself are refused.
	Client []kgo.Opt

	// UnsafeStartAtEnd lets a group without an offset begin with the newest record. What
	// was published before its first start is never handed over, nor what was while the
	// group was forgotten (Kafka forgets a group that was empty for seven days), nor what
	// the topic loses to its retention while the group lags.
	UnsafeStartAtEnd bool
	// UnsafeReadUncommitted hands over what transactions have written that were aborted,
	// or may be yet.
	UnsafeReadUncommitted bool
}

// NewTopic says how a topic is made; what is zero is the cluster's default.
type NewTopic struct {
	// Partitions is into how many it is split.
	Partitions int32
	// Replicas is how many brokers keep each.
	Replicas int16
}

const (
	defaultRebalanceTimeout = time.Minute
	// leastTime is the shortest time that anybody means: below it somebody wrote a number
	// without a unit.
	leastTime = time.Millisecond
)

// heartbeatInterval is a third of the session timeout, and 3 s at most.
func (o SourceOptions) heartbeatInterval() time.Duration {
	return min(o.SessionTimeout/3, 3*time.Second)
}

// validate returns an error that names the first field that cannot be.
func (o SourceOptions) validate() error {
	if err := checkBrokers(o.Brokers); err != nil {
		return err
	}
	if o.Group == "" {
		return errors.New("option Group is empty: name the consumer group")
	}
	if o.Window < 0 || o.Window > 1_000_000 {
		return fmt.Errorf("option Window is %d: 0 gives the default, and more than 1000000 is a mistake", o.Window)
	}
	if o.NewTopic.Partitions < 0 || o.NewTopic.Replicas < 0 {
		return fmt.Errorf("option NewTopic is negative (%d partitions, %d replicas): 0 gives the cluster's default", o.NewTopic.Partitions, o.NewTopic.Replicas)
	}
	return checkTimes(map[string]time.Duration{
		"CommitInterval": o.CommitInterval, "NackPause": o.NackPause, "CloseTimeout": o.CloseTimeout,
		"SessionTimeout": o.SessionTimeout, "RebalanceTimeout": o.RebalanceTimeout, "Retention": o.Retention,
	})
}

func checkBrokers(brokers []string) error {
	if len(brokers) == 0 {
		return errors.New("option Brokers is empty: give at least one host:port")
	}
	for _, b := range brokers {
		if b == "" {
			return errors.New("option Brokers has an empty address: give host:port")
		}
	}
	return nil
}

func checkTimes(times map[string]time.Duration) error {
	for name, d := range times {
		switch {
		case d < 0:
			return fmt.Errorf("option %s is negative (%s): 0 gives the default", name, d)
		case d > 0 && d < leastTime:
			return fmt.Errorf("option %s is %s: give it a unit, as in 10*time.Second", name, d)
		}
	}
	return nil
}

// withDefaults fills what is zero, but for RebalanceTimeout, whose default depends on the
// handlers.
func (o SourceOptions) withDefaults() SourceOptions {
	o.Window = cmp.Or(o.Window, 1024)
	o.CommitInterval = cmp.Or(o.CommitInterval, time.Second)
	o.NackPause = cmp.Or(o.NackPause, 250*time.Millisecond)
	o.CloseTimeout = cmp.Or(o.CloseTimeout, 5*time.Second)
	o.SessionTimeout = cmp.Or(o.SessionTimeout, 45*time.Second)
	o.NewTopic.Partitions = cmp.Or(o.NewTopic.Partitions, -1)
	o.NewTopic.Replicas = cmp.Or(o.NewTopic.Replicas, -1)
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	return o
}

// rebalanceTimeout is the timeout for handlers that may hold a delivery for hold.
func (o SourceOptions) rebalanceTimeout(hold time.Duration) time.Duration {
	return cmp.Or(o.RebalanceTimeout, max(defaultRebalanceTimeout, hold+hold/2))
}

// client returns the options of a client that consumes topic as a member of the group.
// What the user may set stands first, what the Source depends on last.
func (o SourceOptions) client(topic string, rebalance time.Duration) []kgo.Opt {
	opts := append(o.admin(),
		kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(topic),
		kgo.SessionTimeout(o.SessionTimeout), kgo.HeartbeatInterval(o.heartbeatInterval()), kgo.RebalanceTimeout(rebalance),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(),
	)
	start, level := o.start(), kgo.ReadCommitted()
	if o.UnsafeReadUncommitted {
		level = kgo.ReadUncommitted()
	}
	return append(opts, kgo.ConsumeStartOffset(start), kgo.ConsumeResetOffset(start), kgo.FetchIsolationLevel(level))
}

// start is where a partition begins whose group has no offset.
func (o SourceOptions) start() kgo.Offset {
	if o.UnsafeStartAtEnd {
		return kgo.NewOffset().AtEnd()
	}
	return kgo.NewOffset().AtStart()
}

// admin returns the options of a client that only asks.
func (o SourceOptions) admin() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ClientID("headrace"), kgo.SeedBrokers(o.Brokers...), kgo.FetchMaxBytes(16 << 20),
		kgo.MetadataMinAge(250 * time.Millisecond), kgo.RetryBackoffFn(backoff),
	}
	return append(opts, o.Client...)
}

// backoff is the pause after a number of failures in a row, from 100 ms to a second, as
// Java's client has it. A recreated topic is seen after six of them, so that the client's
// own, which grow to five seconds, would leave it unread for longer than need be.
func backoff(failures int) time.Duration {
	pause := min(100*time.Millisecond<<min(failures, 5), time.Second)
	return pause*3/4 + rand.N(pause/4)
}
