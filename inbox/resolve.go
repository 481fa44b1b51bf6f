package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"

	"github.com/headrace/headrace"
)

// Literal returns a KeyFunc whose key is always s, for use in Join. It panics if s is
// empty.
func Literal(s string) KeyFunc {
	if s == "" {
		panic("inbox.Literal: the literal is empty")
	}
	return func(*headrace.Delivery) (string, error) { return s, nil }
}

// Header returns a KeyFunc that takes the value of a header as it is. The header of
// exactly this name counts; where there is none, one whose name differs in the case
// of ASCII letters only, and of several such the first in byte order. An empty value
// is absent. It panics if name is empty.
func Header(name string) KeyFunc {
	if name == "" {
		panic("inbox.Header: the name is empty")
	}
	return func(d *headrace.Delivery) (string, error) {
		if value := header(d, name); value != "" {
			return value, nil
		}
		return "", fmt.Errorf("%w: header %q", ErrAbsent, name)
	}
}

// header returns the value of the header that Header describes, or "".
func header(d *headrace.Delivery, name string) string {
	if value, ok := d.Metadata[name]; ok {
		return value
	}
	found, value := "", ""
	for n, v := range d.Metadata {
		if equalFold(n, name) && (found == "" || n < found) {
			found, value = n, v
		}
	}
	return value
}

// equalFold is strings.EqualFold for ASCII letters only: a Kelvin sign is no k.
func equalFold(a, b string) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range len(a) {
		if lower(a[i]) != lower(b[i]) {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}

// MessageID returns a KeyFunc that takes the message's own id (Delivery.ID), the
// Watermill UUID. It is absent where the sender gave none.
func MessageID() KeyFunc {
	return func(d *headrace.Delivery) (string, error) {
		if d.ID == "" {
			return "", fmt.Errorf("%w: message id", ErrAbsent)
		}
		return d.ID, nil
	}
}

// Position returns a KeyFunc that takes where the message stood on its broker:
// "kafka:orders:0:1042", each part escaped as by Join. It is absent where the broker
// gave no position. Sent twice, a message has two positions: this tells deliveries
// of one record apart from other records, and nothing more.
func Position() KeyFunc {
	return func(d *headrace.Delivery) (string, error) {
		c := d.Coordinates
		if c.Position == "" {
			return "", fmt.Errorf("%w: position on the broker", ErrAbsent)
		}
		return join(c.Broker, c.Topic, c.Partition, c.Position), nil
	}
}

// PayloadHash returns a KeyFunc that takes the SHA-256 of the payload in hex, 64
// digits; of JSON in its canonical form (see Payload). Messages that say the same
// are one message to it, so use it only where the payload holds what tells them
// apart. An empty payload is absent.
func PayloadHash() KeyFunc {
	return func(d *headrace.Delivery) (string, error) {
		if len(d.Payload) == 0 {
			return "", fmt.Errorf("%w: payload", ErrAbsent)
		}
		sum := hashPayload(d.Payload)
		return hex.EncodeToString(sum[:]), nil
	}
}

// prefixes of what is hashed keep JSON in canonical form apart from bytes.
const (
	jsonPrefix   = "json\n"
	bytesPrefix  = "bytes\n"
	fieldsPrefix = "fields\n"
)

func hashPayload(payload []byte) [sha256.Size]byte {
	c := canonicals.Get().(*canonical)
	defer c.release()
	c.out = append(c.out[:0], jsonPrefix...)
	if !c.document(payload) {
		c.out = append(append(c.out[:0], bytesPrefix...), payload...)
	}
	return sha256.Sum256(c.out)
}

// hasMediaType reports whether a header says that the payload is of media type t.
func hasMediaType(d *headrace.Delivery, t string) bool {
	value := header(d, "Content-Type")
	if value == "" {
		value = header(d, "content_type")
	}
	value, _, _ = strings.Cut(value, ";")
	return equalFold(strings.TrimSpace(value), t)
}
