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
	var target *json.InvalidUnmarshalError
	if errors.As(err, &target) {
		return fmt.Errorf("decode JSON into %T: a pointer that is not nil is needed", into)
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return syntaxError(payload, syntax.Offset)
	}
	var mismatch *json.UnmarshalTypeError
	if errors.As(err, &mismatch) {
		return &Error{Offset: mismatch.Offset, Field: mismatch.Field, Reason: mismatched(mismatch)}
	}
	if c.known && c.unknownField(payload, into) {
		return &Error{Offset: -1, Reason: fmt.Sprintf("a member that %s has no field for", reflect.TypeOf(into).Elem())}
	}
	// What a type's own UnmarshalJSON or UnmarshalText said is not shown: time's,
	// for one, quotes what it could not read.
	return &Error{Offset: -1, Reason: fmt.Sprintf("a value was refused by its Go type (%T)", err)}
}

// syntaxError says what is wrong with a payload that is no JSON. json counts the
// bytes that it read, the wrong one included.
func syntaxError(payload []byte, read int64) error {
	switch {
	case len(bytes.TrimSpace(payload)) == 0:
		return &Error{Offset: 0, Reason: "not JSON: nothing there"}
	case truncated(payload):
		return &Error{Offset: int64(len(payload)), Reason: "not JSON: unexpected end"}
	}
	return &Error{Offset: max(read-1, 0), Reason: "not JSON: unexpected character"}
}

// unknownField reports whether payload is refused only for members without a field.
func (c *jsonCodec) unknownField(payload []byte, into any) bool {
	lenient := jsonCodec{number: c.number}
	fresh := reflect.New(reflect.TypeOf(into).Elem())
	return lenient.unmarshal(payload, fresh.Interface()) == nil
}

// mismatched says what was expected and what was found, without the value: json
// puts the digits of a number into Value.
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

// kindName names in JSON's words what t is decoded from.
func kindName(t reflect.Type) string {
	if t == nil {
		return "another type"
	}
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "true or false"
	case reflect.Struct, reflect.Map:
		return "object"
	case reflect.Slice, reflect.Array:
		return "array"
	case reflect.Pointer:
		return kindName(t.Elem())
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64, reflect.Uint, reflect.Uint8,
		reflect.Uint16, reflect.Uint32, reflect.Uint64, reflect.Uintptr, reflect.Float32, reflect.Float64:
		return "number"
	}
	return t.String()
}
