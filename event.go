package headrace

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/headrace/headrace/internal/encode"
)

// Event is a message to publish. It becomes a row of the outbox, and the relay
// publishes that row after the commit, at least once, always under the same ID.
type Event struct {
	// ID is the id that the published message carries. Default: a random UUID.
	ID string
	// Topic is where to publish. Required.
	Topic string
	// OrderKey names the events of Topic that must be published in the order in
	// which they were written; empty means any order. Writers that want an order
	// across transactions lock what the key stands for before they publish.
	OrderKey string
	// Value is encoded as JSON (or by the consumer's codec) into the payload.
	// Exactly one of Value and Payload is used: Payload wins if it is not nil.
	Value any
	// Payload holds the bytes to publish as they are.
	Payload []byte
	// Metadata becomes the headers of the message. May be nil.
	Metadata map[string]string
	// Delay keeps the event back for this long after it was written, by the
	// database's clock; 0 means at once. A delayed event stands outside the order
	// of its OrderKey.
	Delay time.Duration
	// Trace is stored with the event and published as traceparent and tracestate,
	// unless Metadata has them. Default inside a handler: that of the message.
	Trace TraceContext
}

// maxName is the longest ID, Topic or OrderKey: stores keep them in columns with
// indexes.
const maxName = 1 << 10

// ErrInvalidEvent matches every refusal of an event: no topic, no payload, a
// value that cannot be encoded, a negative delay, an ID, Topic or OrderKey that is
// longer than 1 KiB, holds NUL or is not valid UTF-8.
var ErrInvalidEvent = errors.New("invalid event")

// Encode returns e ready to be written: with an ID and a Payload. marshal turns
// Value into bytes; nil means JSON. The error matches ErrInvalidEvent.
func (e Event) Encode(marshal func(any) ([]byte, error)) (Event, error) {
	if err := e.check(); err != nil {
		return e, err
	}
	if e.Payload == nil {
		if e.Value == nil {
			return e, fmt.Errorf("%w: neither Value nor Payload is set (topic %q)", ErrInvalidEvent, e.Topic)
		}
		if marshal == nil {
			marshal = json.Marshal
		}
		payload, err := marshal(e.Value)
		if err != nil {
			return e, fmt.Errorf("%w: encode Value of type %T: %w", ErrInvalidEvent, e.Value, err)
		}
		if payload == nil {
			payload = []byte{}
		}
		e.Payload = payload
	}
	if e.ID == "" {
		e.ID = uuid.NewString()
	}
	e.Value = nil
	return e, nil
}

// check refuses what no payload can mend.
func (e Event) check() error {
	if e.Topic == "" {
		return fmt.Errorf("%w: Topic is empty", ErrInvalidEvent)
	}
	for _, name := range []struct{ field, value string }{{"ID", e.ID}, {"Topic", e.Topic}, {"OrderKey", e.OrderKey}} {
		if len(name.value) > maxName {
			return fmt.Errorf("%w: %s has %d bytes, at most %d are allowed", ErrInvalidEvent, name.field, len(name.value), maxName)
		}
		if !encode.Clean(name.value) {
			return fmt.Errorf("%w: %s holds a NUL byte or is not valid UTF-8", ErrInvalidEvent, name.field)
		}
	}
	if e.Delay < 0 {
		return fmt.Errorf("%w: Delay is negative (%s)", ErrInvalidEvent, e.Delay)
	}
	return nil
}
