package inbox

import (
	"errors"
	"fmt"
	"strings"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/attempt"
	"github.com/headrace/headrace/internal/encode"
)

// MaxKeyBytes is the longest key.
const MaxKeyBytes = 512

var (
	// ErrAbsent matches the error of a KeyFunc that found no key.
	ErrAbsent = errors.New("absent")
	// ErrMalformed matches the error of a KeyFunc that found an invalid key, and the
	// error of a fingerprint that cannot be computed.
	ErrMalformed = errors.New("malformed")
)

// KeyFunc returns the key of d, the same for every delivery of the same message, or an
// error that matches ErrAbsent or ErrMalformed and shows no part of the payload. It reads
// d's ID, Topic, Payload, Metadata and Coordinates. An empty key counts as absent. It is
// safe for concurrent use.
type KeyFunc func(d *headrace.Delivery) (string, error)

// DefaultKey is the default of consumers: CloudEvents, then MessageID, then Position.
func DefaultKey() KeyFunc { return First(CloudEvents(), MessageID(), Position()) }

// Resolve returns the key that f finds for d. An error matches ErrAbsent if there is no
// key, and ErrMalformed if f panics or the key breaks the rules of keys (see the
// package).
func Resolve(f KeyFunc, d *headrace.Delivery) (key string, err error) {
	p, err := attempt.Catch(func() (err error) {
		key, err = call(f, d)
		return err
	})
	if p != nil {
		err = fmt.Errorf("%w: the key function panicked (%T)", ErrMalformed, p.Value)
	}
	if err != nil {
		return "", err
	}
	if err := encode.Check("the key", key, MaxKeyBytes); err != nil {
		return "", fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if IsStandIn(key) {
		return "", fmt.Errorf("%w: the key begins with %q, as only stand-in keys do", ErrMalformed, standIn)
	}
	if strings.TrimSpace(key) == "" {
		return "", fmt.Errorf("%w: the key is white space only", ErrMalformed)
	}
	return key, nil
}

// call runs f, and turns an empty key into ErrAbsent.
func call(f KeyFunc, d *headrace.Delivery) (string, error) {
	key, err := f(d)
	if err == nil && key == "" {
		return "", fmt.Errorf("%w: the key is empty", ErrAbsent)
	}
	return key, err
}

// First returns a KeyFunc that calls fs in turn and returns the first key. It continues
// only if a key is absent: any other error is the result. It panics if there are none or
// one is nil.
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

// Join returns a KeyFunc that joins the keys of parts with ':'. A ':' or '\' inside a
// part is escaped by '\'. If one part is absent, the whole key is. It panics if there are
// no parts or one is nil.
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

// mustBeFuncs panics at start-up, not at the first message.
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
