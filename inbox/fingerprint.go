package inbox

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/jsontext"
)

// MaxFingerprintBytes is the longest fingerprint. A longer one, or one that contains NUL
// or is not valid UTF-8, makes its message undecodable.
const MaxFingerprintBytes = 1 << 10

// FingerprintFunc returns a hash of d's content, the same for every delivery of the same
// message, or an error that matches ErrMalformed. It is safe for concurrent use. Those of
// this package return 32 hex digits, half of a SHA-256.
type FingerprintFunc func(d *headrace.Delivery) (string, error)

// Payload returns the default FingerprintFunc: a hash of the payload. It never
// fails.
//
// JSON is hashed in a canonical form: the order of members, white space and the escaping
// of characters do not matter. Numbers are compared digit by digit: 1, 1.0 and 1e0
// differ. Names are compared with their case. The unchanged bytes are hashed for payloads
// that are not JSON or not Unicode text, begin with a byte order mark, have two members
// of one name in an object, or are nested deeper than 128. A nil payload (a Kafka
// tombstone) is not an empty one: a handler can tell them apart.
func Payload() FingerprintFunc {
	return func(d *headrace.Delivery) (string, error) {
		sum := hashPayload(d.Payload)
		return hex.EncodeToString(sum[:16]), nil
	}
}

// Fields returns a FingerprintFunc over chosen values of a JSON payload, for messages
// with parts that differ each time they are sent: a time, a trace. The paths are as for
// JSON, with dots, in any order. A value is hashed as by Payload; a missing one and null
// differ. A payload that has none of them is hashed whole, since a path that is mistyped would
// have all payloads be the same. One that is not JSON is malformed.
//
// Fields panics if there is no path, or a name in one is empty or not valid Unicode.
func Fields(paths ...string) FingerprintFunc {
	if len(paths) == 0 {
		panic("inbox.Fields: no paths")
	}
	parsed := make([]jsontext.Path, 0, len(paths))
	for _, s := range paths {
		p, ok := jsontext.ParsePath(s)
		if !ok {
			panic(fmt.Sprintf("inbox.Fields: the path %q is empty or has an empty name, or one that is not valid Unicode", s))
		}
		parsed = append(parsed, p)
	}
	slices.SortFunc(parsed, slices.Compare[jsontext.Path])
	parsed = slices.CompactFunc(parsed, slices.Equal[jsontext.Path])
	return func(d *headrace.Delivery) (string, error) { return hashFields(d.Payload, parsed) }
}

func hashFields(payload []byte, paths []jsontext.Path) (string, error) {
	if !json.Valid(payload) {
		return "", fmt.Errorf("%w: the payload is not JSON (%d bytes): no fingerprint of its fields", ErrMalformed, len(payload))
	}
	text, found := []byte(fieldsPrefix), false
	for _, p := range paths {
		for _, name := range p {
			text = strconv.AppendQuote(text, name)
		}
		value, _ := p.Find(payload)
		if value == nil {
			text = append(text, '-', '\n')
			continue
		}
		text, found = append(text, '='), true
		canonical, ok := jsontext.AppendCanonical(text, value)
		if !ok {
			canonical = append(text, value...)
		}
		text = append(canonical, '\n')
	}
	if !found {
		whole := hashPayload(payload)
		text = append(text, whole[:]...)
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:16]), nil
}
