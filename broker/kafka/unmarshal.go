package kafka

import (
	"context"
	"strconv"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace"
)

// UUIDHeader is the header that carries a Watermill message's UUID; it is that of
// Watermill's own adapter.
const UUIDHeader = "_watermill_message_uuid"

// place is where the records of a partition stand.
type place struct {
	topic, partition string
	incarnation      string // of the topic; "" where the broker tells none
}

// placeOf names a partition of the incarnation id of topic; without an id where the
// broker tells none.
func placeOf(topic string, id [16]byte, partition int32) place {
	p := place{topic: topic, partition: strconv.Itoa(int(partition)), incarnation: incarnationOf(id)}
	if p.incarnation != "" { // no topic's name has an @
		p.topic += "@" + p.incarnation
	}
	return p
}

// unmarshal makes a message of any record. It never fails, and the message shares the
// record's value.
func unmarshal(ctx context.Context, r *kgo.Record, at place) *message.Message {
	uuid, metadata := headersOf(r.Headers)
	m := message.NewMessage(uuid, r.Value)
	m.Metadata = metadata
	m.SetContext(headrace.WithArrival(ctx, headrace.Arrival{
		Coordinates: headrace.Coordinates{
			Broker: "kafka", Topic: at.topic, Partition: at.partition, Position: strconv.FormatInt(r.Offset, 10),
		},
		OrderKey: string(r.Key),
	}))
	return m
}

// headersOf returns the UUID and the metadata that headers say. Of those with one name
// the last has it; an earlier one is kept under name#1, name#2 and so on.
func headersOf(headers []kgo.RecordHeader) (uuid string, m message.Metadata) {
	m = make(message.Metadata, len(headers))
	for _, h := range headers {
		if h.Key == UUIDHeader {
			uuid = string(h.Value)
			continue
		}
		if earlier, has := m[h.Key]; has {
			for n := 1; ; n++ {
				name := h.Key + "#" + strconv.Itoa(n)
				if _, taken := m[name]; !taken {
					m[name] = earlier
					break
				}
			}
		}
		m[h.Key] = string(h.Value)
	}
	return uuid, m
}
