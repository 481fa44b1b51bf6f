package kafka

import (
	"context"
	"encoding/base64"
	"fmt"
	"strings"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"
)

// mark is the prefix of a commit's metadata, which contains the incarnation of the
// offset. The group itself stores an offset by the topic's name: a late commit, from
// before the client has noticed that the topic was made again, would count for the new
// one, and its records below would not be read.
const mark = "incarnation="

// incarnationOf is the text of a topic id; "" if the broker has none.
func incarnationOf(id [16]byte) string {
	if id == [16]byte{} {
		return ""
	}
	return base64.RawURLEncoding.EncodeToString(id[:])
}

// marking adds the incarnation of each partition to the commits of ctx.
func marking(ctx context.Context, incarnations map[int32]string) context.Context {
	return kgo.PreCommitFnContext(ctx, func(ask *kmsg.OffsetCommitRequest) error {
		for _, t := range ask.Topics {
			for i := range t.Partitions {
				if is := incarnations[t.Partitions[i].Partition]; is != "" {
					t.Partitions[i].Metadata = kmsg.StringPtr(mark + is)
				}
			}
		}
		return nil
	})
}

// begin checks the group's start offsets of partitions. If an offset is of another
// incarnation, the partition begins as if it had none. An offset without metadata, for
// example set by an operator, is used.
func (s *session) begin(ctx context.Context, offsets map[string]map[int32]kgo.Offset) (map[string]map[int32]kgo.Offset, error) {
	<-s.ready
	mine := offsets[s.topic]
	any := false
	for _, at := range mine {
		any = any || at.EpochOffset().Offset >= 0
	}
	if !any {
		return offsets, nil
	}
	id, err := topicID(ctx, s.client, s.topic)
	if err != nil {
		return nil, err
	}
	is := incarnationOf(id)
	if is == "" {
		return offsets, nil
	}
	said, err := s.said(ctx, id)
	if err != nil {
		return nil, err
	}
	for number := range mine {
		if was, marked := strings.CutPrefix(said[number], mark); marked && was != is {
			s.options.Logger.Warn("the group's offset is that of a topic that was deleted and made again, and does not count", "topic", s.topic, "partition", number)
			mine[number] = s.options.start()
		}
	}
	return offsets, nil
}

// topicID returns the current id of topic; zero if the brokers have none.
func topicID(ctx context.Context, client kmsg.Requestor, topic string) (id [16]byte, err error) {
	answer, err := describe(ctx, client, topic)
	if err != nil {
		return id, fmt.Errorf("ask for the topic's id: %w", err)
	}
	for _, t := range answer.Topics {
		if err := kerr.ErrorForCode(t.ErrorCode); err != nil {
			return id, fmt.Errorf("ask for the topic's id: %w", err)
		}
		id = t.TopicID
	}
	return id, nil
}

// said returns the metadata of the group's commits for the topic, by partition.
func (s *session) said(ctx context.Context, id [16]byte) (map[int32]string, error) {
	ask := kmsg.NewPtrOffsetFetchRequest()
	group := kmsg.NewOffsetFetchRequestGroup()
	group.Group = s.options.Group
	t := kmsg.NewOffsetFetchRequestGroupTopic()
	t.Topic, t.TopicID = s.topic, id
	for _, p := range s.all() {
		t.Partitions = append(t.Partitions, p.number)
	}
	group.Topics = append(group.Topics, t)
	ask.Groups = append(ask.Groups, group)
	answer, err := ask.RequestWith(ctx, s.client)
	if err != nil {
		return nil, fmt.Errorf("ask what was committed: %w", err)
	}
	said := make(map[int32]string)
	for _, g := range answer.Groups {
		if err := kerr.ErrorForCode(g.ErrorCode); err != nil {
			return nil, fmt.Errorf("ask what was committed: %w", err)
		}
		for _, t := range g.Topics {
			for _, p := range t.Partitions {
				if err := kerr.ErrorForCode(p.ErrorCode); err != nil {
					return nil, fmt.Errorf("ask what was committed: %w", err)
				}
				if p.Metadata != nil {
					said[p.Partition] = *p.Metadata
				}
			}
		}
	}
	return said, nil
}
