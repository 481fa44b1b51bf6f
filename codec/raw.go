package codec

import (
	"fmt"
	"strings"
)

// Raw returns the codec for bodies of type []byte and string, which are the unchanged
// payload. It rejects every other type, and accepts every payload.
//
// A []byte body is the payload itself, not a copy: neither may be changed. A nil
// payload (a Kafka tombstone) gives a nil []byte.
func Raw() Codec { return raw{} }

type raw struct{}

// ContentType implements Codec.
func (raw) ContentType() string { return "application/octet-stream" }

// Reads implements Typed.
func (raw) Reads(into any) error {
	switch into.(type) {
	case *[]byte, *string:
		return nil
	}
	return fmt.Errorf("codec.Raw() gives a []byte or a string, and not a %s: use codec.JSON(), or a handler of []byte", strings.TrimPrefix(fmt.Sprintf("%T", into), "*"))
}

// Decode implements Codec.
func (raw) Decode(payload []byte, into any) error {
	switch v := into.(type) {
	case *[]byte:
		if v != nil {
			*v = payload
			return nil
		}
	case *string:
		if v != nil {
			*v = string(payload)
			return nil
		}
	}
	return fmt.Errorf("decode raw payload into %T: *[]byte or *string is needed", into)
}

// Encode implements Codec. It returns a []byte itself, not a copy.
func (raw) Encode(v any) ([]byte, error) {
	switch v := v.(type) {
	case []byte:
		return v, nil
	case string:
		return []byte(v), nil
	}
	return nil, fmt.Errorf("encode %T as raw payload: []byte or string is needed", v)
}
