package headrace

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/header"
)

// Event is a message to publish. It becomes a row of the outbox, and the relay
// publishes that row after the commit, at least once, always under the same ID. Each
// consumer of the same database with a local handler for its topic gets it as well.
type Event struct {
	// ID is the id of the published message. Default: a random UUID.
	ID string
	// Topic is the topic to publish to. Required.
	Topic string
	// OrderKey names the events of Topic that must be published in the order in which
	// they were written; empty means any order. For an order across transactions, writers
	// lock the entity of the key before they publish. A leased handler that gets the events
	// works on one of a key at a time, so choose a key that has few events at once.
	OrderKey string
	// Value is encoded as JSON (or by the consumer's codec) into the payload. Set Value or
	// Payload, not both.
	Value any
	// Payload is published unchanged.
	Payload []byte
	// Tombstone says that the event has no payload, which is not an empty one: Value and
	// Payload are nil. On Kafka it is a record with a null value, a deletion of its key
	// (OrderKey) in a compacted topic. Brokers without such messages publish an empty
	// payload: see docs/brokers.md.
	Tombstone bool
	// Metadata becomes the headers of the message. May be nil.
	Metadata map[string]string
	// Delay delays the event after it was written, by the database's clock; 0 means at
	// once. A delayed event is not part of the order of its OrderKey.
	Delay time.Duration
	// Local says that the event is only for handlers of the same database (consumer.Local):
	// it is not published to a broker. Otherwise it is published, and those handlers get it
	// too. The events of a consumer without a Sink are always local.
	Local bool
	// Trace is stored with the event and published as traceparent and tracestate,
	// unless Metadata has them. Default: in a handler that of the message, elsewhere that
	// of the span in Publish's context.
	Trace TraceContext
}

// maxName is the longest ID, Topic or OrderKey: stores keep them in indexed columns.
const maxName = encode.MaxTopic

// ErrInvalidEvent matches the error of an invalid event: no topic, or one with a control
// character or a blank at an edge; no payload, and no Tombstone; a Tombstone with a
// payload; both Value and Payload; a value that cannot be encoded; a negative delay; an ID, Topic or OrderKey that
// is longer than 1 KiB, contains NUL or is not valid UTF-8.
var ErrInvalidEvent = errors.New("invalid event")

// ContentTypeHeader is the metadata entry with the media type of a payload. Each adapter
// puts it where its broker has a place for it, and reads it from there: see
// docs/brokers.md.
const ContentTypeHeader = "content-type"

// Encoder turns Event.Value into bytes of a media type. Every codec.Codec is one.
type Encoder interface {
	Encode(v any) ([]byte, error)
	// ContentType is the media type of Encode's result; "" if there is none.
	ContentType() string
}

// EventEncoder is an Encoder whose result is more than a payload, such as headers too. Then
// Event.Encode calls EncodeEvent instead of Encode, for events with a Value.
type EventEncoder interface {
	Encoder
	// EncodeEvent returns e with a Payload, and without a Value. It does not change
	// e.Metadata, which may be shared: it returns another map.
	EncodeEvent(e Event) (Event, error)
}

// asJSON is the default Encoder.
type asJSON struct{}

func (asJSON) Encode(v any) ([]byte, error) { return json.Marshal(v) }
func (asJSON) ContentType() string          { return "application/json" }

// Encode returns e ready to be written: with an ID and a Payload, which is nil only for a
// Tombstone. encoder turns Value into bytes; nil means JSON. What it has encoded has its
// content type in the metadata, unless e.Metadata has one. The error matches
// ErrInvalidEvent.
func (e Event) Encode(encoder Encoder) (Event, error) {
	if err := e.check(); err != nil {
		return e, err
	}
	if encoder == nil {
		encoder = asJSON{}
	}
	if whole, ok := encoder.(EventEncoder); ok && e.Payload == nil && e.Value != nil && !e.Tombstone {
		encoded, err := whole.EncodeEvent(e)
		if err != nil {
			return e, fmt.Errorf("%w: encode Value of type %T: %w", ErrInvalidEvent, e.Value, err)
		}
		// Its result may be invalid, or a Tombstone.
		return encoded.Encode(asJSON{})
	}
	payload, err := e.payload(encoder)
	if err != nil {
		return e, err
	}
	_, said := header.Value(e.Metadata, ContentTypeHeader)
	if kind := encoder.ContentType(); e.Payload == nil && payload != nil && kind != "" && !said {
		metadata := map[string]string{ContentTypeHeader: kind}
		maps.Copy(metadata, e.Metadata)
		e.Metadata = metadata
	}
	e.Payload, e.Value = payload, nil
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	return e, nil
}

// payload returns the payload to publish; nil only for a Tombstone.
func (e Event) payload(encoder Encoder) ([]byte, error) {
	switch {
	case e.Tombstone && (e.Payload != nil || e.Value != nil):
		return nil, fmt.Errorf("%w: a Tombstone has neither Value nor Payload (topic %q)", ErrInvalidEvent, e.Topic)
	case e.Payload != nil && e.Value != nil:
		return nil, fmt.Errorf("%w: both Value (of type %T) and Payload are set, leave one of them out (topic %q)", ErrInvalidEvent, e.Value, e.Topic)
	case e.Tombstone || e.Payload != nil:
		return e.Payload, nil
	case e.Value == nil:
		return nil, fmt.Errorf("%w: neither Value nor Payload is set, and it is no Tombstone (topic %q)", ErrInvalidEvent, e.Topic)
	}
	payload, err := encoder.Encode(e.Value)
	if err != nil {
		return nil, fmt.Errorf("%w: encode Value of type %T: %w", ErrInvalidEvent, e.Value, err)
	}
	if payload == nil {
		payload = []byte{}
	}
	return payload, nil
}

// check rejects events that are invalid whatever their payload.
func (e Event) check() error {
	if err := encode.Topic("Topic", e.Topic); err != nil {
		return fmt.Errorf("%w: %w", ErrInvalidEvent, err)
	}
	for _, name := range []struct{ field, value string }{{"ID", e.ID}, {"OrderKey", e.OrderKey}} {
		if err := encode.Check(name.field, name.value, maxName); err != nil {
			return fmt.Errorf("%w: %w", ErrInvalidEvent, err)
		}
	}
	if e.Delay < 0 {
		return fmt.Errorf("%w: Delay is negative (%s)", ErrInvalidEvent, e.Delay)
	}
	return nil
}
