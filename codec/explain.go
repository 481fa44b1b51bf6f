package codec

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
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
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return &Error{Offset: mismatch.Offset, Field: mismatch.Field, Reason: mismatched(mismatch)}
	}
	if c.known && c.unknownField(payload, into) {
		return &Error{Offset: -1, Reason: fmt.Sprintf("a member that %s has no field for", reflect.TypeOf(into).Elem())}
	}
	// The error of a type's own UnmarshalJSON or UnmarshalText is not shown: that of
	// time, for example, quotes its input.
	return &Error{Offset: -1, Reason: fmt.Sprintf("a value was refused by its Go type (%T)", err)}
}

// syntaxError returns the error for a payload that is not JSON. json counts the bytes
// that it read, including the wrong one.
func syntaxError(payload []byte, read int64) error {
	switch {
	case len(bytes.TrimSpace(payload)) == 0:
		return &Error{Offset: 0, Reason: "not JSON: nothing there"}
	case truncated(payload):
		return &Error{Offset: int64(len(payload)), Reason: "not JSON: unexpected end"}
	}
	return &Error{Offset: max(read-1, 0), Reason: "not JSON: unexpected character"}
}

// unknownField reports whether the only mistake in payload is members without a field.
func (c *jsonCodec) unknownField(payload []byte, into any) bool {
	lenient := jsonCodec{number: c.number}
	fresh := reflect.New(reflect.TypeOf(into).Elem())
	return lenient.unmarshal(payload, fresh.Interface()) == nil
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
	case k == reflect.String:
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
