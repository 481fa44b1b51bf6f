package cloudevents

import (
	"encoding/json"
	"fmt"
	"maps"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
	"github.com/cloudevents/sdk-go/v2/types"
	"github.com/google/uuid"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/header"
)

const (
	version  = "specversion"
	dataType = "datacontenttype"
)

// prefixes are those of the attributes' headers.
var prefixes = map[Mode]string{Kafka: header.EventKafka, AMQP: header.EventAMQP, NATS: header.EventHTTP}

// Encode implements codec.Codec. It returns the payload of EncodeEvent for an event without a
// topic, and so is an error unless Options.Type, or v as an event.Event, has a type. Handlers
// publish through EncodeEvent.
func (c *Codec) Encode(v any) ([]byte, error) {
	e, err := c.EncodeEvent(headrace.Event{Value: v})
	return e.Payload, err
}

// EncodeEvent implements headrace.EventEncoder. It returns e with its Value, a CloudEvent,
// as Payload and Metadata. A handler's Tx calls it; elsewhere call it before
// outbox.Publish. e.ID becomes the attribute id, a random UUID if it is empty. A Value of
// type event.Event keeps its own attributes; an id, source, type or specversion that it
// lacks is added.
func (c *Codec) EncodeEvent(e headrace.Event) (headrace.Event, error) {
	ce, err := c.event(e)
	if err != nil {
		return e, err
	}
	e.ID, e.Value = ce.ID(), nil
	metadata := maps.Clone(e.Metadata)
	if metadata == nil {
		metadata = map[string]string{}
	}
	if c.options.Mode == Structured {
		e.Payload, err = ce.MarshalJSON()
		metadata[headrace.ContentTypeHeader] = header.StructuredEvent
	} else {
		e.Payload = ce.Data()
		err = c.options.Mode.write(ce, metadata)
	}
	if err != nil {
		return e, fmt.Errorf("cloudevents: %w", err)
	}
	if e.Payload == nil {
		e.Payload = []byte{}
	}
	e.Metadata = metadata
	return e, nil
}

// event returns the CloudEvent of e, which is valid.
func (c *Codec) event(e headrace.Event) (event.Event, error) {
	ce, whole := e.Value.(event.Event)
	if whole {
		ce = ce.Clone()
	} else {
		data, err := c.options.Data.Encode(e.Value)
		if err != nil {
			return ce, fmt.Errorf("cloudevents: data: %w", err)
		}
		ce = event.New()
		kind, value := c.options.Data.ContentType(), any(data)
		if strings.HasSuffix(kind, "json") {
			value = json.RawMessage(data) // else it is written in base64
		}
		if err := ce.SetData(kind, value); err != nil {
			return ce, fmt.Errorf("cloudevents: data: %w", err)
		}
	}
	if ce.Context == nil {
		ce.SetSpecVersion(event.CloudEventsVersionV1)
	}
	if ce.ID() == "" {
		ce.SetID(e.ID)
	}
	if ce.ID() == "" {
		ce.SetID(uuid.NewString())
	}
	if ce.Source() == "" {
		ce.SetSource(c.source)
	}
	if ce.Type() == "" {
		ce.SetType(c.options.Type(e))
	}
	if err := ce.Validate(); err != nil {
		return ce, fmt.Errorf("cloudevents: invalid event: %w", err)
	}
	return ce, nil
}

// write adds the attributes of ce to metadata, by the names of the mode's binding.
func (m Mode) write(ce event.Event, metadata map[string]string) error {
	attributes := map[string]string{version: ce.SpecVersion(), "id": ce.ID(), "source": ce.Source(), "type": ce.Type()}
	for name, value := range map[string]string{"subject": ce.Subject(), "dataschema": ce.DataSchema()} {
		if value != "" {
			attributes[name] = value
		}
	}
	if at := ce.Time(); !at.IsZero() {
		attributes["time"] = types.FormatTime(at)
	}
	for name, value := range ce.Extensions() {
		text, err := types.Format(value)
		if err != nil {
			return fmt.Errorf("extension %s: %w", name, err)
		}
		attributes[name] = text
	}
	if kind := ce.DataContentType(); kind != "" {
		// For NATS a content type says that the event is structured.
		if m == NATS {
			attributes[dataType] = kind
		} else {
			metadata[headrace.ContentTypeHeader] = kind
		}
	}
	for name, value := range attributes {
		if m == NATS {
			value = percentEncode(value)
		}
		metadata[prefixes[m]+name] = value
	}
	return nil
}

// percentEncode encodes as the HTTP binding does, section 3.1.3.2: blanks, quotes, percent
// signs, and all that is not printable ASCII.
func percentEncode(s string) string {
	var b strings.Builder
	for _, c := range []byte(s) {
		if c <= ' ' || c >= 0x7f || c == '"' || c == '%' {
			fmt.Fprintf(&b, "%%%02X", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}
