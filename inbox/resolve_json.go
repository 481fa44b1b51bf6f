package inbox

import (
	"encoding/json"
	"fmt"

	"github.com/headrace/headrace"
)

// JSON returns a KeyFunc that takes a value from a JSON payload. The path names the
// members from the outside in, as arguments or with dots: JSON("customer", "id") is
// JSON("customer.id"). A number leads to an element of an array, counted from 0, and
// a backslash before a dot makes it part of a name. Of members of one name the last
// counts.
//
// A string is taken as it is, true and false as these words, and a number with its
// digits as they stand: 10492, 10492.0 and 1.0492e4 are three keys, while 10492 and
// "10492" are one. A member that is not there, null and "" are absent. An object or
// array, a string with half of a surrogate pair or bytes that are no UTF-8, a path
// through a string, number or bool, and a payload that is no JSON or nested deeper
// than 10,000 are malformed.
//
// JSON panics if the path or a name in it is empty.
func JSON(path ...string) KeyFunc {
	p, ok := parsePath(path...)
	if !ok {
		panic(fmt.Sprintf("inbox.JSON: the path %q is empty or has an empty name", path))
	}
	return func(d *headrace.Delivery) (string, error) {
		if !json.Valid(d.Payload) {
			return "", fmt.Errorf("%w: the payload is not JSON (%d bytes), so it has no %q", ErrMalformed, len(d.Payload), p)
		}
		value, f := p.find(d.Payload)
		switch f {
		case missing:
			return "", fmt.Errorf("%w: JSON member %q", ErrAbsent, p)
		case blocked:
			return "", fmt.Errorf("%w: no JSON member %q: the payload, or a part of it, is a plain value where an object was expected", ErrMalformed, p)
		}
		return scalar(value, p)
	}
}

// scalar returns the text of a JSON value.
func scalar(value []byte, p path) (string, error) {
	switch value[0] {
	case 'n':
		return "", fmt.Errorf("%w: JSON member %q is null", ErrAbsent, p)
	case '{':
		return "", fmt.Errorf("%w: JSON member %q is an object", ErrMalformed, p)
	case '[':
		return "", fmt.Errorf("%w: JSON member %q is an array", ErrMalformed, p)
	case '"':
		s, ok := unquote(value)
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
