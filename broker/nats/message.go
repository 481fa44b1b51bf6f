package nats

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	natsgo "github.com/nats-io/nats.go"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/broker/internal/flow"
)

const (
	// uuidHeader contains a message's id, as in Watermill's NATSMarshaler.
	uuidHeader = "_watermill_message_uuid"
	// restHeader contains entries that no header can: a JSON list of pairs in base64.
	restHeader = "Headrace-Metadata"
	// orderHeader contains the order key of an event, escaped as in a URL's query.
	orderHeader = "Headrace-Order-Key"
)

// delivery makes a message of any record.
func (b *subscription) delivery(raw *natsgo.Msg) *delivery {
	id, metadata := unmarshal(raw.Header)
	m := message.NewMessage(id, flow.Payload(raw.Data))
	m.Metadata = metadata
	ctx, forget := context.WithCancel(b.ctx)
	at, stored := coordinates(raw)
	m.SetContext(headrace.WithArrival(ctx, headrace.Arrival{Coordinates: at, OrderKey: orderKey(raw.Header), Time: stored}))
	return &delivery{raw: raw, msg: m, forget: forget}
}

// orderKey is the order key that our sink sent; "" from other senders.
func orderKey(h natsgo.Header) string {
	key, err := url.QueryUnescape(h.Get(orderHeader))
	if err != nil {
		return ""
	}
	return text(key)
}

// coordinates are the stream, the subject, and the sequence with the time at which the
// stream stored the message. A stream that was made again has the same sequences, at
// other times.
func coordinates(raw *natsgo.Msg) (c headrace.Coordinates, stored time.Time) {
	c = headrace.Coordinates{Broker: "nats", Partition: text(raw.Subject)}
	if m, err := raw.Metadata(); err == nil {
		c.Topic = m.Stream
		c.Position = strconv.FormatUint(m.Sequence.Stream, 10) + "@" + strconv.FormatInt(m.Timestamp.UnixNano(), 10)
		stored = m.Timestamp
	}
	return c, stored
}

// unmarshal never fails: it returns the id, if there is one, and all headers.
func unmarshal(h natsgo.Header) (id string, metadata message.Metadata) {
	metadata = make(message.Metadata, len(h))
	given, packed := h.Get(natsgo.MsgIdHdr), ""
	if own := h[uuidHeader]; len(own) == 1 {
		id = own[0]
	}
	for name, values := range h {
		switch {
		case name == uuidHeader && id != "", name == orderHeader:
		case name == restHeader && len(values) == 1:
			packed = values[0]
		case name == natsgo.MsgIdHdr && id != "" && strings.HasPrefix(given, id+"/"): // made by our sink
		default:
			metadata[text(name)] = text(strings.Join(values, "\n"))
		}
	}
	if packed != "" && !unpack(packed, metadata) {
		metadata[restHeader] = text(packed)
	}
	if id == "" {
		id = given
	}
	return text(id), metadata
}

// text returns s, or its base64 if s is not text.
func text(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return "base64:" + base64.StdEncoding.EncodeToString([]byte(s))
}

// pack encodes entries that headers cannot contain as one header.
func pack(pairs [][2][]byte) string {
	packed, err := json.Marshal(pairs)
	if err != nil {
		panic(err) // bytes can always be marshaled
	}
	return string(packed)
}

// unpack undoes pack; after false metadata is unchanged.
func unpack(packed string, metadata message.Metadata) bool {
	var pairs [][2][]byte
	if json.Unmarshal([]byte(packed), &pairs) != nil {
		return false
	}
	for _, pair := range pairs {
		metadata[text(string(pair[0]))] = text(string(pair[1]))
	}
	return true
}
