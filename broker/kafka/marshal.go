package kafka

import (
	"maps"
	"slices"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"
)

// marshal makes a record of any message: the payload unchanged (nil is a nil value, which
// means a deletion for a compacted topic), the metadata as headers in the order of their
// names, and the UUID in Watermill's header. A metadata entry of that name is left out,
// since the UUID is the message's id.
func marshal(topic, key string, m *message.Message) *kgo.Record {
	r := &kgo.Record{Topic: topic, Value: m.Payload, Headers: make([]kgo.RecordHeader, 0, len(m.Metadata)+1)}
	if key != "" {
		r.Key = []byte(key)
	}
	if m.UUID != "" {
		r.Headers = append(r.Headers, kgo.RecordHeader{Key: UUIDHeader, Value: []byte(m.UUID)})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Metadata)) {
		if name != UUIDHeader {
			r.Headers = append(r.Headers, kgo.RecordHeader{Key: name, Value: []byte(m.Metadata[name])})
		}
	}
	return r
}
