package codec

import (
	"errors"
	"fmt"

	"github.com/headrace/headrace"
)

// Codec turns payloads into values and back. Implementations are safe for
// concurrent use.
type Codec interface {
	// Decode reads payload into the value that into points to. It may keep payload (see
	// Raw), and does not change it. An error about the payload matches ErrUndecodable and
	// shows no part of its content.
	Decode(payload []byte, into any) error
	// Encode returns the payload of v.
	Encode(v any) ([]byte, error)
	// ContentType is the media type of Encode's result.
	ContentType() string
}

// DeliveryDecoder is a Codec that needs more of a message than its payload, such as
// headers. Then consumers call DecodeDelivery instead of Decode.
type DeliveryDecoder interface {
	Codec
	// DecodeDelivery is Decode for the payload of d. It does not change d.
	DecodeDelivery(d *headrace.Delivery, into any) error
}

// Typed is a Codec that reads some Go types only. Consumers refuse a handler of another type
// when it is registered.
type Typed interface {
	Codec
	// Reads returns an error if Decode cannot read any payload into what into points to.
	Reads(into any) error
}

// SelfDecoder is a body that reads its payload by itself, whatever the codec of its handler is,
// because the format is not the program's to choose: a tick of package schedule.
type SelfDecoder interface {
	// DecodePayload reads payload. Its errors are as those of Codec.Decode.
	DecodePayload(payload []byte) error
}

// Decoder returns the function that reads deliveries into values of the type that like points
// to, or an error if c is Typed and cannot.
func Decoder(c Codec, like any) (decode func(d *headrace.Delivery, into any) error, err error) {
	if _, ok := like.(SelfDecoder); ok {
		return func(d *headrace.Delivery, into any) error { return into.(SelfDecoder).DecodePayload(d.Payload) }, nil
	}
	if typed, ok := c.(Typed); ok {
		err = typed.Reads(like)
	}
	if whole, ok := c.(DeliveryDecoder); ok {
		return whole.DecodeDelivery, err
	}
	return func(d *headrace.Delivery, into any) error { return c.Decode(d.Payload, into) }, err
}

// ErrUndecodable matches the error of a payload that a codec cannot read. A retry will
// not help.
var ErrUndecodable = errors.New("undecodable payload")

// Error says where and why a payload could not be decoded. It matches ErrUndecodable, and
// does not wrap the decoder's error, which may quote the payload.
type Error struct {
	// Offset is the byte of the payload at which the mistake is, from 0: where a value begins
	// that does not fit, or the first byte that is not JSON. -1 if unknown.
	Offset int64
	// Field is the path of the field by the names that the codec uses for the Go struct,
	// "order.total_price"; empty if unknown.
	Field string
	// Reason is a short text for people.
	Reason string
}

// Error implements error: "field order.total: number expected, string found at byte 12".
func (e *Error) Error() string {
	text := e.Reason
	if e.Field != "" {
		text = "field " + e.Field + ": " + text
	}
	if e.Offset >= 0 {
		text = fmt.Sprintf("%s at byte %d", text, e.Offset)
	}
	return text
}

// Is reports that e matches ErrUndecodable.
func (e *Error) Is(target error) bool { return target == ErrUndecodable }
