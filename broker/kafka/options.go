package kafka

import (
	"cmp"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace/broker/internal/flow"
)

// SourceOptions configure a Source. A zero field has the default that its comment names.
type SourceOptions struct {
	// Brokers are some of the cluster's addresses, host:port. Required.
	Brokers []string
	// Group is the consumer group: its members share the partitions of a topic, and it
	// stores their positions. Required. Do not change it while records are unread:
	// another group begins at the oldest record.
	Group string

	// Window is how many records of a partition are handed over from the lowest unsettled
	// one on; 1 hands over the next only after the one before. It bounds how many come
	// again after a crash. Default 1024.
	Window int
	// MaxBytes is how many bytes of records a subscription may hold that are not
	// acknowledged: while it has so many, it fetches no more of any partition. What a fetch
	// returns comes on top, up to a quarter of it for each broker, and one batch of each
	// partition at least, decompressed. At least 1 MiB. Default 64 MiB.
	MaxBytes int64
	// CommitInterval is how often positions are committed to the group. Records settled
	// since then come again after a crash. 1 ms to 1 minute. Default 1 s.
	CommitInterval time.Duration
	// NackPause is the shortest wait before a record that was given back is handed over
	// again. Its partition hands over no other record meanwhile. 1 ms to 1 h. Default 250 ms.
	NackPause time.Duration
	// CloseTimeout is how long Close, or the end of Subscribe's context, waits for handed
	// over records; after half of it the messages' contexts end. 1 ms to 1 h. Default 5 s.
	CloseTimeout time.Duration

	// SessionTimeout is how long the group waits for a member's heartbeat before it
	// counts as dead; it must be within the brokers' limits. Default 45 s.
	SessionTimeout time.Duration
	// RebalanceTimeout is how long a member has to release a revoked partition; its
	// handlers must finish within it. Default a minute, or one and a half times the
	// longest Demands.AckWait of the consumer's handlers, if that is longer.
	RebalanceTimeout time.Duration

	// Retention is the longest time for which the topics keep a record; TopicRetention
	// declares it to the inbox. Check rejects a topic that keeps them longer. Default:
	// the settings of each topic.
	Retention time.Duration
	// NewTopic configures the topics that SubscribeInitialize makes.
	NewTopic NewTopic
	// Logger logs outages, once each, and the end of a subscription. Default:
	// slog.Default.
	Logger *slog.Logger
	// Client are further options of the client, such as kgo.SASL and kgo.DialTLSConfig.
	// An option that the Source sets itself is an error.
	Client []kgo.Opt

	// UnsafeStartAtEnd lets a group without an offset begin with the newest record.
	// Records published before its first start are never handed over, nor records from a
	// time when Kafka had removed the group (it removes groups that were empty for seven
	// days), nor records that the topic's retention removes while the group lags.
	UnsafeStartAtEnd bool
	// UnsafeReadUncommitted also hands over records of transactions that were aborted, or
	// may still be.
	UnsafeReadUncommitted bool
}

// NewTopic configures a new topic; zero means the cluster's default.
type NewTopic struct {
	// Partitions is how many partitions it has.
	Partitions int32
	// Replicas is how many brokers keep each partition.
	Replicas int16
}

const (
	defaultRebalanceTimeout = time.Minute
	// leastBytes is the least MaxBytes.
	leastBytes = 1 << 20
)

// heartbeatInterval is a third of the session timeout, and 3 s at most.
func (o SourceOptions) heartbeatInterval() time.Duration {
	return min(o.SessionTimeout/3, 3*time.Second)
}

// validate returns an error that names the first invalid field.
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
	if o.MaxBytes != 0 && o.MaxBytes < leastBytes {
		return fmt.Errorf("option MaxBytes is %d: at least %d are needed, and 0 gives the default", o.MaxBytes, leastBytes)
	}
	if o.NewTopic.Partitions < 0 || o.NewTopic.Replicas < 0 {
		return fmt.Errorf("option NewTopic is negative (%d partitions, %d replicas): 0 gives the cluster's default", o.NewTopic.Partitions, o.NewTopic.Replicas)
	}
	const day = 24 * time.Hour
	return flow.Times(
		flow.Time{Name: "CommitInterval", Value: o.CommitInterval, Most: time.Minute}, flow.Time{Name: "NackPause", Value: o.NackPause},
		flow.Time{Name: "CloseTimeout", Value: o.CloseTimeout}, flow.Time{Name: "SessionTimeout", Value: o.SessionTimeout, Most: day},
		flow.Time{Name: "RebalanceTimeout", Value: o.RebalanceTimeout, Most: day}, flow.Time{Name: "Retention", Value: o.Retention, Most: 36500 * day},
	)
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

// withDefaults sets zero fields, except RebalanceTimeout, whose default depends on the
// handlers.
func (o SourceOptions) withDefaults() SourceOptions {
	o.Window = cmp.Or(o.Window, 1024)
	o.MaxBytes = cmp.Or(o.MaxBytes, 64<<20)
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

// rebalanceTimeout is the timeout for handlers that keep a delivery for ackWait.
func (o SourceOptions) rebalanceTimeout(ackWait time.Duration) time.Duration {
	return cmp.Or(o.RebalanceTimeout, max(defaultRebalanceTimeout, ackWait+ackWait/2))
}

// client returns the options of a client that consumes topic as a member of the group.
// The user's options come first, those that the Source depends on last.
func (o SourceOptions) client(topic string, rebalance time.Duration) []kgo.Opt {
	opts := append(o.admin(),
		kgo.ConsumerGroup(o.Group), kgo.ConsumeTopics(topic),
		kgo.SessionTimeout(o.SessionTimeout), kgo.HeartbeatInterval(o.heartbeatInterval()), kgo.RebalanceTimeout(rebalance),
		kgo.DisableAutoCommit(), kgo.BlockRebalanceOnPoll(), kgo.FetchMaxBytes(leastFetch), kgo.FetchMaxPartitionBytes(leastFetch),
	)
	start, level := o.start(), kgo.ReadCommitted()
	if o.UnsafeReadUncommitted {
		level = kgo.ReadUncommitted()
	}
	return append(opts, kgo.ConsumeStartOffset(start), kgo.ConsumeResetOffset(start), kgo.FetchIsolationLevel(level))
}

// start is where a partition begins if the group has no offset.
func (o SourceOptions) start() kgo.Offset {
	if o.UnsafeStartAtEnd {
		return kgo.NewOffset().AtEnd()
	}
	return kgo.NewOffset().AtStart()
}

// admin returns the options of a client for requests only.
func (o SourceOptions) admin() []kgo.Opt {
	opts := []kgo.Opt{
		kgo.ClientID("headrace"), kgo.SeedBrokers(o.Brokers...),
		kgo.MetadataMinAge(250 * time.Millisecond), kgo.RetryBackoffFn(backoff),
	}
	return append(opts, o.Client...)
}

// backoff is the pause after a number of failures in a row, from 100 ms to a second, as
// in Java's client. A recreated topic is noticed after six of them; with the client's own
// pauses, which grow to five seconds, it would stay unread unnecessarily long.
func backoff(failures int) time.Duration {
	pause := min(100*time.Millisecond<<min(failures, 5), time.Second)
	return pause*3/4 + rand.N(pause/4)
}
