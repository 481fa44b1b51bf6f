package kafka

import (
	"fmt"
	"reflect"

	"github.com/twmb/franz-go/pkg/kgo"
)

// owned is an option of the client that users must not set through Client.
type owned struct {
	name string
	opt  any    // the function of kgo
	say  string // what to do instead
}

const itself = "the Source depends on its own"

// ownedBySource are options that a Source sets itself, or forbids: each of them could
// lose records.
var ownedBySource = []owned{
	{"SeedBrokers", kgo.SeedBrokers, "set SourceOptions.Brokers"},
	{"AllowAutoTopicCreation", kgo.AllowAutoTopicCreation, "a missing topic is a mistake; make it beforehand, or call SubscribeInitialize"},
	{"InstanceID", kgo.InstanceID, "each subscription is a member of the group, and of two members with one id the group ends the first"},
	{"KeepRetryableFetchErrors", kgo.KeepRetryableFetchErrors, "the client mends such an error, and the subscription would end with it"},
	{"DisableFetchCRCValidation", kgo.DisableFetchCRCValidation, "records that were damaged on their way would be handed over"},
	{"ConsumerGroup", kgo.ConsumerGroup, "set SourceOptions.Group"},
	{"ShareGroup", kgo.ShareGroup, itself},
	{"ConsumeTopics", kgo.ConsumeTopics, "subscribe to the topic"},
	{"ConsumePartitions", kgo.ConsumePartitions, itself},
	{"ConsumeRegex", kgo.ConsumeRegex, "subscribe to each topic"},
	{"ConsumeStartOffset", kgo.ConsumeStartOffset, "it begins at the oldest record; UnsafeStartAtEnd changes that"},
	{"ConsumeResetOffset", kgo.ConsumeResetOffset, "it goes on at the oldest record; UnsafeStartAtEnd changes that"},
	{"FetchIsolationLevel", kgo.FetchIsolationLevel, "it reads what is committed; UnsafeReadUncommitted changes that"},
	{"FetchMaxBytes", kgo.FetchMaxBytes, "set SourceOptions.MaxBytes"},
	{"FetchMaxPartitionBytes", kgo.FetchMaxPartitionBytes, "set SourceOptions.MaxBytes"},
	{"DisableAutoCommit", kgo.DisableAutoCommit, itself},
	{"GreedyAutoCommit", kgo.GreedyAutoCommit, "it commits what was polled and not what was handled"},
	{"AutoCommitMarks", kgo.AutoCommitMarks, itself},
	{"BlockRebalanceOnPoll", kgo.BlockRebalanceOnPoll, itself},
	{"OnPartitionsAssigned", kgo.OnPartitionsAssigned, itself},
	{"OnPartitionsRevoked", kgo.OnPartitionsRevoked, itself},
	{"OnPartitionsLost", kgo.OnPartitionsLost, itself},
	{"AdjustFetchOffsetsFn", kgo.AdjustFetchOffsetsFn, "it can pass over records"},
	{"SessionTimeout", kgo.SessionTimeout, "set SourceOptions.SessionTimeout"},
	{"HeartbeatInterval", kgo.HeartbeatInterval, "it is a third of SourceOptions.SessionTimeout"},
	{"RebalanceTimeout", kgo.RebalanceTimeout, "set SourceOptions.RebalanceTimeout"},
	{"KeepControlRecords", kgo.KeepControlRecords, "a transaction's marker is no message"},
}

// ownedBySink are options that a Sink sets itself.
var ownedBySink = []owned{
	{"SeedBrokers", kgo.SeedBrokers, "set SinkOptions.Brokers"},
	{"TransactionalID", kgo.TransactionalID, "the outbox replaces transactions"},
	{"ManualFlushing", kgo.ManualFlushing, "Publish waits for the brokers' answers"},
	{"AllowAutoTopicCreation", kgo.AllowAutoTopicCreation, "a missing topic is a mistake; make it beforehand"},
	{"RecordDeliveryTimeout", kgo.RecordDeliveryTimeout, "set SinkOptions.Timeout"},
	{"ProducerBatchMaxBytes", kgo.ProducerBatchMaxBytes, "set SinkOptions.MaxMessageBytes"},
}

// refuse returns an error that names the first option of list that opts set.
func refuse(opts []kgo.Opt, list []owned) error {
	if len(opts) == 0 {
		return nil
	}
	bare, err := kgo.NewClient()
	if err != nil {
		return fmt.Errorf("make a client: %w", err)
	}
	defer bare.Close()
	set, err := kgo.NewClient(opts...)
	if err != nil {
		return fmt.Errorf("option Client: %w", err)
	}
	defer set.Close()
	for _, o := range list {
		if was, is := bare.OptValues(o.opt), set.OptValues(o.opt); !same(was, is) {
			return fmt.Errorf("option Client sets kgo.%s: %s", o.name, o.say)
		}
	}
	return nil
}

// same compares results of OptValues; functions are the same only if both are nil.
func same(a, b []any) bool { return reflect.DeepEqual(a, b) }
