package main

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/headrace/headrace/tests/endtoend/story"
)

// gateway is a plain client of Kafka: no Watermill, no headrace.
type gateway struct{ client *kgo.Client }

// Gateway implements story.Connection.
func (c connection) Gateway() (story.Gateway, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		return nil, fmt.Errorf("connect the gateway: %w", err)
	}
	return gateway{client}, nil
}

// Send implements story.Gateway.
func (g gateway) Send(ctx context.Context, topic string, list []story.Sent) error {
	records := make([]*kgo.Record, len(list))
	for i, s := range list {
		r := &kgo.Record{Topic: topic, Value: s.Payload}
		if s.Key != "" {
			r.Key = []byte(s.Key)
		}
		for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(s.Headers[name])})
		}
		records[i] = r
	}
	return g.client.ProduceSync(ctx, records...).FirstErr()
}

// Close implements story.Gateway.
func (g gateway) Close() error {
	g.client.Close()
	return nil
}

// Left implements story.Connection: the lag of the group.
func (c connection) Left(ctx context.Context, topic, group string) (int, error) {
	client, err := kgo.NewClient(kgo.SeedBrokers(c.brokers...))
	if err != nil {
		return 0, fmt.Errorf("ask for the lag: %w", err)
	}
	defer client.Close()
	at, err := committed(ctx, client, topic, group)
	if err != nil {
		return 0, fmt.Errorf("ask for the lag: %w", err)
	}
	ends, err := ends(ctx, client, topic)
	if err != nil {
		return 0, fmt.Errorf("ask for the lag: %w", err)
	}
	left := 0
	for partition, end := range ends {
		left += int(end - max(at[partition], 0))
	}
	return left, nil
}

// committed are the offsets of the group.
func committed(ctx context.Context, client *kgo.Client, topic, group string) (map[int32]int64, error) {
	ask := kmsg.NewPtrOffsetFetchRequest()
	g := kmsg.NewOffsetFetchRequestGroup()
	g.Group = group
	ask.Group, ask.Groups = group, append(ask.Groups, g)
	answer, err := ask.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	at := make(map[int32]int64)
	for _, g := range answer.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			return nil, err
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if t.Topic == topic {
					at[p.Partition] = p.Offset
				}
			}
		}
	}
	return at, nil
}

// ends are the offsets behind the newest records.
func ends(ctx context.Context, client *kgo.Client, topic string) (map[int32]int64, error) {
	meta := kmsg.NewPtrMetadataRequest()
	one := kmsg.NewMetadataRequestTopic()
	one.Topic = kmsg.StringPtr(topic)
	meta.Topics = append(meta.Topics, one)
	known, err := meta.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	ask := kmsg.NewPtrListOffsetsRequest()
	list := kmsg.NewListOffsetsRequestTopic()
	list.Topic = topic
	for _, t := range known.Topics {
		for _, p := range t.Partitions {
			part := kmsg.NewListOffsetsRequestTopicPartition()
			part.Partition, part.Timestamp = p.Partition, -1
			list.Partitions = append(list.Partitions, part)
		}
	}
	if len(list.Partitions) == 0 {
		return nil, errors.New("the topic has no partitions")
	}
	ask.Topics = append(ask.Topics, list)
	answer, err := ask.RequestWith(ctx, client)
	if err != nil {
		return nil, err
	}
	found := make(map[int32]int64)
	for _, t := range answer.Topics {
		for _, p := range t.Partitions {
			if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
				return nil, err
			}
			found[p.Partition] = p.Offset
		}
	}
	return found, nil
}
