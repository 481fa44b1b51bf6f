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

// DisallowUnknownFields rejects payloads with members that the struct has no field for.
func DisallowUnknownFields() JSONOption { return func(c *jsonCodec) { c.known = true } }

type jsonCodec struct{ number, known bool }

// JSON returns the codec for JSON, read and written by encoding/json. It accepts exactly
// one JSON value: anything but white space after it is an error.
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
	if err := c.unmarshal(payload, into); err != nil {
		return c.explain(payload, into, err)
	}
	return nil
}

func (c *jsonCodec) unmarshal(payload []byte, into any) error {
	if !c.number && !c.known {
		return json.Unmarshal(payload, into)
	}
	// A Decoder stops after the first value, so check first that there is only one.
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
	return json.Unmarshal(payload, new(json.RawMessage))
}

// truncated reports whether payload is the beginning of a JSON value.
func truncated(payload []byte) bool {
	err := json.NewDecoder(bytes.NewReader(payload)).Decode(new(json.RawMessage))
	return err == io.ErrUnexpectedEOF || err == io.EOF
}
