package redis

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/ThreeDotsLabs/watermill/message"
	"github.com/vmihailenco/msgpack/v5"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/internal/encode"
)

// Names of the fields of an entry, as in watermill-redisstream.
const (
	// UUIDField contains Watermill's UUID.
	UUIDField = "_watermill_message_uuid"
	// PayloadField contains the payload.
	PayloadField = "payload"
	// MetadataField contains the metadata, a map in msgpack.
	MetadataField = "metadata"
)

// read makes a message of any fields: it never fails. scalars is SourceOptions.Scalars.
func read(values map[string]any, scalars bool) *message.Message {
	fields := make(map[string]string, len(values))
	for name, v := range values {
		if s, ok := v.(string); ok {
			fields[name] = s
		} else {
			fields[name] = fmt.Sprint(v)
		}
	}
	id, known := fields[UUIDField]
	payload, found := fields[PayloadField]
	if !known && !found && scalars {
		return message.NewMessage("", object(fields))
	}
	if !known && !found {
		return message.NewMessage("", encode.Metadata(fields))
	}
	delete(fields, UUIDField)
	delete(fields, PayloadField)
	msg := message.NewMessage(id, []byte(payload))
	msg.Metadata = fields
	if packed, found := fields[MetadataField]; found {
		if m, err := unpack(packed); err == nil {
			delete(fields, MetadataField)
			maps.Copy(m, fields)
			msg.Metadata = m
		}
	}
	return msg
}

// object returns the JSON object of fields, in which numbers, true, false and null are no
// strings.
func object(fields map[string]string) []byte {
	values := make(map[string]any, len(fields))
	for name, value := range fields {
		if !utf8.ValidString(name) || !utf8.ValidString(value) {
			return encode.Metadata(fields)
		}
		values[name] = value
		if value != "" && strings.IndexByte("-0123456789tfn", value[0]) >= 0 && value[len(value)-1] > ' ' && json.Valid([]byte(value)) {
			values[name] = json.RawMessage(value)
		}
	}
	b, err := json.Marshal(values)
	if err != nil {
		return encode.Metadata(fields)
	}
	return b
}

var errTrailing = errors.New("more than one value")

// unpack reads metadata in msgpack; "" means none.
func unpack(packed string) (m map[string]string, err error) {
	m = map[string]string{}
	if packed == "" {
		return m, nil
	}
	defer func() {
		if v := recover(); v != nil { // from the decoder, which reads foreign bytes
			err = fmt.Errorf("msgpack: panic of type %T", v)
		}
	}()
	r := bytes.NewReader([]byte(packed))
	d := msgpack.NewDecoder(r)
	if err := d.Decode(&m); err != nil {
		return nil, err
	}
	if _, err := r.ReadByte(); !errors.Is(err, io.EOF) {
		return nil, errTrailing
	}
	if m == nil {
		return nil, errors.New("nil")
	}
	return m, nil
}

// write returns the fields of an entry.
func write(m *message.Message) ([]any, error) {
	var packed []byte
	if len(m.Metadata) > 0 {
		var err error
		if packed, err = msgpack.Marshal(map[string]string(m.Metadata)); err != nil {
			return nil, fmt.Errorf("write metadata: %w", err)
		}
	}
	fields := []any{UUIDField, m.UUID, MetadataField, packed, PayloadField, []byte(m.Payload)}
	for _, name := range plain {
		if value := m.Metadata[name]; value != "" {
			fields = append(fields, name, value)
		}
	}
	return fields, nil
}

// plain are metadata that are also fields of their own, for readers that know no msgpack.
var plain = append([]string{headrace.ContentTypeHeader}, dlq.Headers()...)

// timeOf is the time in the id of an entry that Redis gave it; zero if there is none.
func timeOf(id string) time.Time {
	milliseconds, _, _ := strings.Cut(id, "-")
	ms, err := strconv.ParseInt(milliseconds, 10, 64)
	if err != nil || ms < earliest {
		return time.Time{}
	}
	return time.UnixMilli(ms)
}

// earliest is the year 2000 in milliseconds: a smaller id was given by the sender, as in
// XADD stream 1-1.
const earliest = 946_684_800_000
