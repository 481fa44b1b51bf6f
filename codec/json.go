package codec

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"reflect"

	"github.com/headrace/headrace/internal/jsontext"
)

// JSONOption changes how JSON decodes.
type JSONOption func(*jsonCodec)

// UseNumber decodes numbers into interface values as json.Number, digit for digit,
// instead of float64.
func UseNumber() JSONOption { return func(c *jsonCodec) { c.number = true } }

// Strict rejects payloads with members that the struct has no field for, and null for a struct.
func Strict() JSONOption { return func(c *jsonCodec) { c.known = true } }

// Required rejects payloads in which one of these members is missing or null: without it,
// a payload with none of the names of a struct is an empty struct. A dot leads into an
// object, as in "order.id". Names are compared with their case. Required panics without a
// name, and if one is empty or not valid Unicode.
func Required(names ...string) JSONOption {
	if len(names) == 0 {
		panic("codec.Required: no names")
	}
	paths := make([]jsontext.Path, len(names))
	for i, name := range names {
		p, ok := jsontext.ParsePath(name)
		if !ok {
			panic(fmt.Sprintf("codec.Required: the name %q is empty, or not valid Unicode", name))
		}
		paths[i] = p
	}
	return func(c *jsonCodec) { c.required = append(c.required, paths...) }
}

type jsonCodec struct {
	number, known bool
	required      []jsontext.Path
}

// JSON returns the codec for JSON, read and written by encoding/json. It accepts exactly
// one JSON value: anything but white space after it is an error. A nil option panics.
func JSON(options ...JSONOption) Codec {
	c := &jsonCodec{}
	for i, o := range options {
		if o == nil {
			panic(fmt.Sprintf("codec.JSON: option %d is nil", i+1))
		}
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
	if c.known && string(bytes.TrimSpace(payload)) == "null" && reflect.TypeOf(into).Elem().Kind() == reflect.Struct {
		return &Error{Offset: 0, Reason: "null, and no object"}
	}
	for _, p := range c.required {
		if value, _ := p.Find(payload); value == nil || string(value) == "null" {
			return &Error{Offset: -1, Field: p.String(), Reason: "required, and missing or null"}
		}
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
