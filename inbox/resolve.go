package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/header"
	"github.com/headrace/headrace/internal/jsontext"
)

// Literal returns a KeyFunc whose key is always s, for use in Join. It panics if s is
// empty.
func Literal(s string) KeyFunc {
	if s == "" {
		panic("inbox.Literal: the literal is empty")
	}
	return func(*headrace.Delivery) (string, error) { return s, nil }
}

// Header returns a KeyFunc that returns the value of a header unchanged. It uses the
// header of exactly this name; if there is none, one whose name differs only in case, and
// of several such the first in byte order. An empty value is absent. It panics if name is
// empty.
func Header(name string) KeyFunc {
	if name == "" {
		panic("inbox.Header: the name is empty")
	}
	return func(d *headrace.Delivery) (string, error) {
		if value, _ := header.Value(d.Metadata, name); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("%w: %w", ErrAbsent, &header.Missing{Name: name})
	}
}

// MessageID returns a KeyFunc that returns the message's own id (Delivery.ID), the
// Watermill UUID. It is absent if the sender set none.
func MessageID() KeyFunc {
	return func(d *headrace.Delivery) (string, error) {
		if d.ID == "" {
			return "", fmt.Errorf("%w: message id", ErrAbsent)
		}
		return d.ID, nil
	}
}

// Position returns a KeyFunc that returns the message's position on its broker:
// "kafka:orders:0:1042", each part escaped as by Join. It is absent if the broker has
// none. A message that is sent twice has two positions.
func Position() KeyFunc {
	return func(d *headrace.Delivery) (string, error) {
		c := d.Coordinates
		if c.Position == "" {
			return "", fmt.Errorf("%w: position on the broker", ErrAbsent)
		}
		return join(c.Broker, c.Topic, c.Partition, c.Position), nil
	}
}

// PayloadHash returns a KeyFunc that returns the SHA-256 of the payload in hex, 64
// digits; of JSON in its canonical form (see Payload). Messages with the same payload are
// then one message. An empty payload is absent.
func PayloadHash() KeyFunc {
	return func(d *headrace.Delivery) (string, error) {
		if len(d.Payload) == 0 {
			return "", fmt.Errorf("%w: payload", ErrAbsent)
		}
		sum := hashPayload(d.Payload)
		return hex.EncodeToString(sum[:]), nil
	}
}

// prefixes of the hashed text, so that canonical JSON and plain bytes differ.
const (
	jsonPrefix   = "json\n"
	bytesPrefix  = "bytes\n"
	fieldsPrefix = "fields\n"
	nilPrefix    = "nil\n"
)

func hashPayload(payload []byte) [sha256.Size]byte {
	if payload == nil {
		return sha256.Sum256([]byte(nilPrefix))
	}
	text, ok := jsontext.AppendCanonical([]byte(jsonPrefix), payload)
	if !ok {
		text = append([]byte(bytesPrefix), payload...)
	}
	return sha256.Sum256(text)
}
