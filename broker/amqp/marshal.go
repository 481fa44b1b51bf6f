package amqp

import (
	"fmt"
	"time"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"

	"github.com/headrace/headrace/outbox"
)

// marshal returns the publishing for m: the payload unchanged, the metadata as headers,
// the id in the official adapter's header and, if it fits, as message-id, the present time
// as timestamp. frame is the frame size agreed with the broker. The error matches
// outbox.ErrTooLarge: the headers exceed a frame, or the name of one has more than 255 bytes.
func marshal(m *message.Message, frame int) (amqp091.Publishing, error) {
	headers := make(amqp091.Table, len(m.Metadata)+1)
	size := frameOverhead + len(idHeader) + len(m.UUID) + min(len(m.UUID), maxShort)
	for name, value := range m.Metadata {
		if len(name) > maxShort {
			return amqp091.Publishing{}, fmt.Errorf("%w: the name of a header has %d bytes, at most %d are possible", outbox.ErrTooLarge, len(name), maxShort)
		}
		size += fieldOverhead + len(name) + len(value)
		headers[name] = value
	}
	headers[idHeader] = m.UUID
	p := amqp091.Publishing{Headers: headers, Body: m.Payload, DeliveryMode: amqp091.Persistent, Timestamp: time.Now()}
	if len(m.UUID) <= maxShort {
		p.MessageId = m.UUID
	}
	for _, property := range []struct {
		field *string
		value string
	}{{&p.ContentType, m.Metadata[contentTypeKey]}, {&p.ContentEncoding, m.Metadata[contentEncodingKey]}} {
		if len(property.value) <= maxShort {
			*property.field = property.value
			size += len(property.value) + 1
		}
	}
	// Headers are one frame. If it is too large the broker ends the connection, and with
	// it the messages of all other calls.
	if frame > 0 && size > frame {
		return amqp091.Publishing{}, fmt.Errorf("%w: the headers take %d bytes, a frame has %d", outbox.ErrTooLarge, size, frame)
	}
	return p, nil
}

const (
	// fieldOverhead is the size of a header in addition to its name and value: two
	// lengths and a type.
	fieldOverhead = 1 + 1 + 4
	// frameOverhead is the size of a frame of properties in addition to them, with a
	// margin.
	frameOverhead = 128
)
