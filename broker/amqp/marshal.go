package amqp

import (
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"
	amqp091 "github.com/rabbitmq/amqp091-go"
)

// marshal returns what is published for m: the payload as it is, the metadata as
// headers, the id as the official adapter writes it and, where it fits, as message-id.
// frame is the size of a frame that the broker agreed to. The error matches ErrTooLarge.
func marshal(m *message.Message, frame int) (amqp091.Publishing, error) {
	headers := make(amqp091.Table, len(m.Metadata)+1)
	size := frameOverhead + len(idHeader) + len(m.UUID) + min(len(m.UUID), maxShort)
	for name, value := range m.Metadata {
		if len(name) > maxShort {
			return amqp091.Publishing{}, fmt.Errorf("%w: the name of a header has %d bytes, at most %d are possible", ErrTooLarge, len(name), maxShort)
		}
		size += fieldOverhead + len(name) + len(value)
		headers[name] = value
	}
	headers[idHeader] = m.UUID
	p := amqp091.Publishing{Headers: headers, Body: m.Payload, DeliveryMode: amqp091.Persistent}
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
	// Headers are one frame. The broker ends the connection, and with it everybody
	// else's messages, when it is given a larger one.
	if frame > 0 && size > frame {
		return amqp091.Publishing{}, fmt.Errorf("%w: the headers take %d bytes, a frame has %d", ErrTooLarge, size, frame)
	}
	return p, nil
}

const (
	// fieldOverhead is what a header takes beside its name and value: two lengths and
	// a type.
	fieldOverhead = 1 + 1 + 4
	// frameOverhead is what a frame of properties takes beside them, with room to spare.
	frameOverhead = 128
)
