package cloudevents

import (
	"errors"
	"fmt"
	"net/url"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/codec"
	"github.com/headrace/headrace/internal/header"
)

// Mode says where published events have their attributes.
type Mode int

const (
	// Structured events are JSON objects that contain the attributes and the data, of
	// content type application/cloudevents+json. It works with every broker.
	Structured Mode = iota
	// Kafka events have the attributes in headers like ce_id.
	Kafka
	// AMQP events, for RabbitMQ, have the attributes in headers like cloudEvents_id.
	AMQP
	// NATS events have the attributes in headers like ce-id, percent-encoded.
	NATS
)

// Options say how events are published and read. The zero value works.
type Options struct {
	// Mode is how events are published. Default Structured.
	Mode Mode
	// Type returns the attribute type of an event that is published. Default: its Topic.
	Type func(headrace.Event) string
	// Data is the codec of the data. Default: codec.JSON().
	Data codec.Codec
}

// Codec reads and writes CloudEvents. It is safe for concurrent use.
type Codec struct {
	source  string
	options Options
}

var (
	_ codec.Codec           = (*Codec)(nil)
	_ codec.DeliveryDecoder = (*Codec)(nil)
	_ headrace.EventEncoder = (*Codec)(nil)
)

// New returns a codec. source is the attribute source of the events that it publishes, a
// URI reference that names this service, such as "/shop/orders" or
// "https://shop.example/orders": source and id together name an event everywhere. The error
// names what is invalid.
func New(source string, o Options) (*Codec, error) {
	if source == "" {
		return nil, errors.New("cloudevents: the source is empty: give a URI reference that names this service, such as \"/shop/orders\"")
	}
	if _, err := url.Parse(source); err != nil {
		return nil, fmt.Errorf("cloudevents: the source is not a URI reference: %w", err)
	}
	if o.Mode < Structured || o.Mode > NATS {
		return nil, fmt.Errorf("cloudevents: option Mode is %d; there are Structured, Kafka, AMQP and NATS", o.Mode)
	}
	if o.Type == nil {
		o.Type = func(e headrace.Event) string { return e.Topic }
	}
	if o.Data == nil {
		o.Data = codec.JSON()
	}
	return &Codec{source: source, options: o}, nil
}

// ContentType implements codec.Codec. In binary modes it is that of the data.
func (c *Codec) ContentType() string {
	if c.options.Mode == Structured {
		return header.StructuredEvent
	}
	return c.options.Data.ContentType()
}
