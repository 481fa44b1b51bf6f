package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/headrace/headrace"
)

// FingerprintFunc returns a hash of what d says, or an error that matches
// ErrMalformed. It is the same for every delivery of the same message, and safe for
// concurrent use. Those of this package give 32 hex digits, half of a SHA-256.
type FingerprintFunc func(d *headrace.Delivery) (string, error)

// Payload returns the default FingerprintFunc: a hash of the payload. It never
// fails.
//
// JSON is hashed in a canonical form: the order of an object's members, white space
// and the way a character is escaped do not count, so that a gateway that writes a
// payload anew makes no conflict. Numbers count digit by digit: 1, 1.0 and 1e0
// differ. The bytes as they are count where that form would hide a difference or
// cost too much: payloads that are no JSON or no Unicode text, that begin with a byte
// order mark, name a member twice in one object, or are nested deeper than 128. Names
// that differ in case are two members, although encoding/json may read them into one
// field.
func Payload() FingerprintFunc {
	return func(d *headrace.Delivery) (string, error) {
		sum := hashPayload(d.Payload)
		return hex.EncodeToString(sum[:16]), nil
	}
}

// Fields returns a FingerprintFunc over chosen values of a JSON payload, for
// messages that carry something new each time they are sent: a time, a trace. The
// paths are those of JSON, with dots; their order does not count. A value is hashed
// as Payload would, objects and arrays too; one that is not there and null differ. A
// payload that is no JSON, or nested deeper than 10,000, is malformed.
//
// Fields panics if there is no path or a name in one is empty.
func Fields(paths ...string) FingerprintFunc {
	if len(paths) == 0 {
		panic("inbox.Fields: no paths")
	}
	parsed := make([]path, 0, len(paths))
	for _, s := range paths {
		p, ok := parsePath(s)
		if !ok {
			panic(fmt.Sprintf("inbox.Fields: the path %q is empty or has an empty name", s))
		}
		parsed = append(parsed, p)
	}
	slices.SortFunc(parsed, slices.Compare[path])
	parsed = slices.CompactFunc(parsed, slices.Equal[path])
	return func(d *headrace.Delivery) (string, error) { return hashFields(d.Payload, parsed) }
}

func hashFields(payload []byte, paths []path) (string, error) {
	if !json.Valid(payload) {
		return "", fmt.Errorf("%w: the payload is not JSON (%d bytes): no fingerprint of its fields", ErrMalformed, len(payload))
	}
	c := canonicals.Get().(*canonical)
	defer c.release()
	h := sha256.New()
	c.out = append(c.out[:0], fieldsPrefix...)
	for _, p := range paths {
		for _, name := range p {
			c.out = strconv.AppendQuote(c.out, name)
		}
		value, f := p.find(payload)
		if f != there {
			c.out = append(c.out, '-', '\n')
			continue
		}
		c.out = append(c.out, '=')
		c.value(value)
		c.out = append(c.out, '\n')
	}
	h.Write(c.out)
	return hex.EncodeToString(h.Sum(nil)[:16]), nil
}
