package codec

import (
	"bytes"
	"encoding"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"time"
)

// explain turns an error of encoding/json, which may quote the payload, into an
// Error, which does not.
func (c *jsonCodec) explain(payload []byte, into any, err error) error {
	if _, ok := errors.AsType[*json.InvalidUnmarshalError](err); ok {
		return fmt.Errorf("decode JSON into %T: a pointer that is not nil is needed", into)
	}
	if syntax, ok := errors.AsType[*json.SyntaxError](err); ok {
		return syntaxError(payload, syntax.Offset)
	}
	t := reflect.TypeOf(into).Elem()
	value := bytes.TrimLeft(payload, " \t\r\n")
	f := finder{codec: c}
	if e := f.find(value, t, place{offset: int64(len(payload) - len(value))}); e != nil {
		return e
	}
	return &Error{Offset: -1, Reason: reason(err, t)} // it depends on what was in the value before
}

// syntaxError returns the error for a payload that is not JSON. json counts the bytes
// that it read, including the wrong one.
func syntaxError(payload []byte, read int64) error {
	switch {
	case len(bytes.TrimSpace(payload)) == 0:
		return &Error{Offset: -1, Reason: "not JSON: the payload is empty"}
	case truncated(payload):
		return &Error{Offset: int64(len(payload)), Reason: "not JSON: unexpected end"}
	}
	for begins, reason := range map[string]string{
		"\xef\xbb\xbf": "it begins with a byte order mark",
		"\xff\xfe":     "it looks like UTF-16, and UTF-8 is expected",
		"\xfe\xff":     "it looks like UTF-16, and UTF-8 is expected",
		"\x1f\x8b":     "it is compressed with gzip",
		"\x00":         "it begins with a zero byte, as Avro and Protobuf of a schema registry do",
	} {
		if bytes.HasPrefix(payload, []byte(begins)) {
			return &Error{Offset: -1, Reason: "not JSON: " + reason}
		}
	}
	return &Error{Offset: max(read-1, 0), Reason: "not JSON: unexpected character"}
}

// reason returns what was expected and found, where a value does not fit t. The error of a
// type's own UnmarshalJSON or UnmarshalText is not shown: that of time, for example, quotes
// its input.
func reason(err error, t reflect.Type) string {
	mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err)
	switch {
	case ok:
		return mismatched(mismatch)
	case t == reflect.TypeFor[time.Time]():
		return "time in RFC 3339 expected, another value found"
	case t == reflect.TypeFor[[]byte]():
		return "base64 expected, another string found"
	}
	return fmt.Sprintf("%s expected, a value found that it refuses", t)
}

// mismatched returns what was expected and found, without the value: json puts the digits
// of a number into Value.
func mismatched(e *json.UnmarshalTypeError) string {
	found, digits, _ := strings.Cut(e.Value, " ")
	expected := kindName(e.Type)
	if found == "bool" {
		found = "true or false"
	}
	if found == "number" && expected == "number" {
		if digits == "" {
			return "number out of range"
		}
		return fmt.Sprintf("number does not fit %s", e.Type.Kind())
	}
	return fmt.Sprintf("%s expected, %s found", expected, found)
}

// kindName returns the JSON type that t is decoded from.
func kindName(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	switch k := t.Kind(); {
	case k == reflect.String, reflect.PointerTo(t).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
		return "string"
	case k == reflect.Bool:
		return "true or false"
	case k == reflect.Struct, k == reflect.Map:
		return "object"
	case k == reflect.Slice, k == reflect.Array:
		return "array"
	case k == reflect.Pointer:
		return kindName(t.Elem())
	case k >= reflect.Int && k <= reflect.Float64:
		return "number"
	}
	return t.String()
}
