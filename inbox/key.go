package inbox

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/headrace/headrace"
)

// MaxKeyBytes is the longest key.
const MaxKeyBytes = 512

var (
	// ErrAbsent matches the error of a KeyFunc that found nothing to make a key of.
	ErrAbsent = errors.New("absent")
	// ErrMalformed matches the error of a KeyFunc that found something that cannot be
	// a key, and the error of a fingerprint that cannot be taken.
	ErrMalformed = errors.New("malformed")
)

// KeyFunc returns the key of d, or an error that matches ErrAbsent or ErrMalformed
// and shows nothing of the payload. It reads d's ID, Topic, Payload, Metadata and
// Coordinates, and must return the same for every delivery of the same message. An
// empty key without an error counts as absent. It is safe for concurrent use.
type KeyFunc func(d *headrace.Delivery) (string, error)

// DefaultKey is the key of consumers that name none: CloudEvents, then MessageID,
// then Position.
func DefaultKey() KeyFunc { return First(CloudEvents(), MessageID(), Position()) }

// Resolve returns the key that f finds for d. An error matches ErrAbsent where there
// is nothing to make a key of, and ErrMalformed where the key is longer than
// MaxKeyBytes, holds NUL or bytes that are no UTF-8, or consists of white space; a
// panic of f is ErrMalformed too.
func Resolve(f KeyFunc, d *headrace.Delivery) (key string, err error) {
	returned := false
	defer func() {
		if value := recover(); !returned && value != nil {
			key, err = "", fmt.Errorf("%w: the key function panicked (%T)", ErrMalformed, value)
		}
	}()
	key, err = call(f, d)
	returned = true
	if err != nil {
		return "", err
	}
	if err := check(key); err != nil {
		return "", err
	}
	return key, nil
}

func check(key string) error {
	switch {
	case len(key) > MaxKeyBytes:
		return fmt.Errorf("%w: the key has %d bytes, at most %d are allowed", ErrMalformed, len(key), MaxKeyBytes)
	case !utf8.ValidString(key):
		return fmt.Errorf("%w: the key is not valid UTF-8", ErrMalformed)
	case strings.IndexByte(key, 0) >= 0:
		return fmt.Errorf("%w: the key holds a NUL byte", ErrMalformed)
	case strings.TrimSpace(key) == "":
		return fmt.Errorf("%w: the key is white space only", ErrMalformed)
	}
	return nil
}

// call runs f, and turns an empty key into ErrAbsent.
func call(f KeyFunc, d *headrace.Delivery) (string, error) {
	key, err := f(d)
	if err == nil && key == "" {
		return "", fmt.Errorf("%w: the key is empty", ErrAbsent)
	}
	return key, err
}

// First returns a KeyFunc that asks fs in turn and takes the first key. It goes on
// only where one is absent: any other error is the result. If all are absent, the
// error says why each of them is. It panics if there are none or one is nil.
func First(fs ...KeyFunc) KeyFunc {
	mustBeFuncs("First", fs)
	return func(d *headrace.Delivery) (string, error) {
		var absent []error
		for _, f := range fs {
			key, err := call(f, d)
			if err == nil {
				return key, nil
			}
			if !errors.Is(err, ErrAbsent) {
				return "", err
			}
			absent = append(absent, err)
		}
		return "", errors.Join(absent...)
	}
}

// Join returns a KeyFunc that joins the keys of parts with ':'. A ':' or '\' inside
// a part is escaped by '\', so that different parts never give the same key. The
// first part that fails is the result: where one part is absent, the whole is. It
// panics if there are no parts or one is nil.
func Join(parts ...KeyFunc) KeyFunc {
	mustBeFuncs("Join", parts)
	return func(d *headrace.Delivery) (string, error) {
		values := make([]string, len(parts))
		for i, f := range parts {
			value, err := call(f, d)
			if err != nil {
				return "", err
			}
			values[i] = value
		}
		return join(values...), nil
	}
}

var escaper = strings.NewReplacer(`\`, `\\`, `:`, `\:`)

func join(values ...string) string {
	for i, value := range values {
		values[i] = escaper.Replace(value)
	}
	return strings.Join(values, ":")
}

// mustBeFuncs panics at start-up rather than with the first message.
func mustBeFuncs(name string, fs []KeyFunc) {
	if len(fs) == 0 {
		panic("inbox." + name + ": no key functions")
	}
	for i, f := range fs {
		if f == nil {
			panic(fmt.Sprintf("inbox.%s: key function %d is nil", name, i+1))
		}
	}
}
