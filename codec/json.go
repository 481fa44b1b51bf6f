package codec

import (
	"bytes"
	"encoding/json"
	"io"
)

// JSONOption changes how JSON decodes.
type JSONOption func(*jsonCodec)

// UseNumber decodes numbers into interface values as json.Number, digit for digit,
// instead of float64.
func UseNumber() JSONOption { return func(c *jsonCodec) { c.number = true } }

// DisallowUnknownFields refuses payloads with members that the struct has no field
// for.
func DisallowUnknownFields() JSONOption { return func(c *jsonCodec) { c.known = true } }

type jsonCodec struct{ number, known bool }

// JSON returns the codec for JSON as encoding/json reads and writes it. Exactly one
// JSON value is accepted: anything but white space after it is an error.
func JSON(options ...JSONOption) Codec {
	c := &jsonCodec{}
	for _, o := range options {
		o(c)
	}
	return c
}

// ContentType implements Codec.
func (*jsonCodec) ContentType() string { return "application/json" }

// Encode implements Codec.
func (*jsonCodec) Encode(v any) ([]byte, error) { return json.Marshal(v) }

// Decode implements Codec.
func (c *jsonCodec) Decode(payload []byte, into any) error {
	err := c.unmarshal(payload, into)
	if err == nil {
		return nil
	}
	return c.explain(payload, into, err)
}

func (c *jsonCodec) unmarshal(payload []byte, into any) error {
	if !c.number && !c.known {
		return json.Unmarshal(payload, into)
	}
	// A decoder stops after the first value, so what follows is looked at before.
	if err := whole(payload); err != nil {
		return err
	}
	d := json.NewDecoder(bytes.NewReader(payload))
	if c.number {
		d.UseNumber()
	}
	if c.known {
		d.DisallowUnknownFields()
	}
	return d.Decode(into)
}

// whole returns the syntax error of a payload that is not one JSON value.
func whole(payload []byte) error {
	if json.Valid(payload) {
		return nil
	}
	var skipped skip
	return json.Unmarshal(payload, &skipped)
}

// skip reads any JSON value and keeps nothing.
type skip struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (*skip) UnmarshalJSON([]byte) error { return nil }

// truncated reports whether payload is the beginning of a JSON value.
func truncated(payload []byte) bool {
	var skipped skip
	err := json.NewDecoder(bytes.NewReader(payload)).Decode(&skipped)
	return err == io.ErrUnexpectedEOF || err == io.EOF
}
