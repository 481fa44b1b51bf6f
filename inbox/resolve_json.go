package inbox

import (
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/jsontext"
)

// JSON returns a KeyFunc that returns a value from a JSON payload. The path names the
// members from the outside in, as arguments or with dots: JSON("customer", "id") is
// JSON("customer.id"). A number selects an element of an array, counted from 0, and a
// backslash before a dot makes it part of a name. Of two members of one name the last is
// used.
//
// A string is used unchanged, true and false as these words, and a number with its
// digits: 10492, 10492.0 and 1.0492e4 are three keys, while 10492 and "10492" are one. A
// missing member, null and "" are absent. An object or array, a string that is not valid
// Unicode, a path through a string, number or bool, and a payload that is not JSON or is
// nested deeper than 10,000 are malformed.
//
// JSON panics if the path or a name in it is empty, or a name is not valid Unicode.
func JSON(path ...string) KeyFunc {
	p, ok := jsontext.ParsePath(path...)
	if !ok {
		panic(fmt.Sprintf("inbox.JSON: the path %q is empty or has an empty name, or one that is not valid Unicode", path))
	}
	return func(d *headrace.Delivery) (string, error) {
		if !json.Valid(d.Payload) {
			return "", fmt.Errorf("%w: the payload is not JSON (%d bytes), so it has no %q", ErrMalformed, len(d.Payload), p)
		}
		value, blocked := p.Find(d.Payload)
		switch {
		case blocked:
			return "", fmt.Errorf("%w: no JSON member %q: the payload, or a part of it, is a plain value where an object was expected", ErrMalformed, p)
		case value == nil:
			return "", fmt.Errorf("%w: JSON member %q", ErrAbsent, p)
		}
		return scalar(value, p)
	}
}

// scalar returns the text of a JSON value.
func scalar(value []byte, p jsontext.Path) (string, error) {
	switch value[0] {
	case 'n':
		return "", fmt.Errorf("%w: JSON member %q is null", ErrAbsent, p)
	case '{':
		return "", fmt.Errorf("%w: JSON member %q is an object", ErrMalformed, p)
	case '[':
		return "", fmt.Errorf("%w: JSON member %q is an array", ErrMalformed, p)
	case '"':
		s, ok := jsontext.Unquote(value)
		if !ok {
			return "", fmt.Errorf("%w: JSON member %q is not valid Unicode", ErrMalformed, p)
		}
		if s == "" {
			return "", fmt.Errorf("%w: JSON member %q is empty", ErrAbsent, p)
		}
		return s, nil
	}
	return string(value), nil
}
