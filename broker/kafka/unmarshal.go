package kafka

import (
	"bytes"
	"context"
	"encoding/base64"
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/headrace/headrace"
)

// UUIDHeader is the header with a Watermill message's UUID; Watermill's own adapter uses
// the same.
const UUIDHeader = "_watermill_message_uuid"

// KeyBase64 is the metadata entry that contains, in base64, a record's key that is not
// UTF-8 or contains NUL: a database stores such an order key only as its hash.
const KeyBase64 = "_headrace_kafka_key_base64"

// place is the position of a partition's records.
type place struct {
	topic, partition string
	incarnation      string // of the topic; "" if the broker has none
}

// placeOf returns the place of a partition of the incarnation id of topic; without an id
// if the broker has none.
func placeOf(topic string, id [16]byte, partition int32) place {
	p := place{topic: topic, partition: strconv.Itoa(int(partition)), incarnation: incarnationOf(id)}
	if p.incarnation != "" { // no topic's name has an @
		p.topic += "@" + p.incarnation
	}
	return p
}

// unmarshal makes a message of any record. It never fails. The message shares the
// record's value.
func unmarshal(ctx context.Context, r *kgo.Record, at place) *message.Message {
	uuid, metadata := headersOf(r.Headers)
	if bytes.IndexByte(r.Key, 0) >= 0 || !utf8.Valid(r.Key) {
		metadata.put(KeyBase64, base64.StdEncoding.EncodeToString(r.Key))
	}
	m := message.NewMessage(uuid, r.Value)
	m.Metadata = metadata.values
	m.SetContext(headrace.WithArrival(ctx, headrace.Arrival{
		Coordinates: headrace.Coordinates{
			Broker: "kafka", Topic: at.topic, Partition: at.partition, Position: strconv.FormatInt(r.Offset, 10),
		},
		OrderKey: string(r.Key),
		Time:     timeOf(r.Timestamp),
	}))
	return m
}

// timeOf returns t, or zero for the -1 ms of a record without a time.
func timeOf(t time.Time) time.Time {
	if t.UnixMilli() < 0 {
		return time.Time{}
	}
	return t
}

// headersOf returns the UUID and the metadata from headers. Of those with one name the
// last is used; an earlier one is kept under name#1, name#2 and so on, also for the UUID.
func headersOf(headers []kgo.RecordHeader) (uuid string, m metadata) {
	m = metadata{values: make(message.Metadata, len(headers))}
	has := false
	for _, h := range headers {
		if h.Key != UUIDHeader {
			m.put(h.Key, string(h.Value))
			continue
		}
		if has {
			m.keep(UUIDHeader, uuid)
		}
		uuid, has = string(h.Value), true
	}
	return uuid, m
}

// metadata is the metadata of a message, and the latest number of each repeated name: a
// record can have hundreds of thousands of repeated headers, so the search for a free
// number must not start at 1.
type metadata struct {
	values  message.Metadata
	numbers map[string]int
}

// put sets name to value, and keeps an earlier value under a number.
func (m *metadata) put(name, value string) {
	if earlier, has := m.values[name]; has {
		m.keep(name, earlier)
	}
	m.values[name] = value
}

// keep keeps value under the next free number of name.
func (m *metadata) keep(name, value string) {
	if m.numbers == nil {
		m.numbers = make(map[string]int)
	}
	for {
		m.numbers[name]++
		numbered := name + "#" + strconv.Itoa(m.numbers[name])
		if _, taken := m.values[numbered]; !taken {
			m.values[numbered] = value
			return
		}
	}
}
