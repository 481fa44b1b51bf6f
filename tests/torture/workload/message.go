package workload

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
)

// Kind says how the handler of a message fails.
type Kind string

// The kinds.
const (
	Good      Kind = "good"
	Flaky     Kind = "flaky"     // fails twice
	Poison    Kind = "poison"    // fails for good
	Exhausted Kind = "exhausted" // fails every time, as if it might not
	Curable   Kind = "curable"   // fails for good until a person has cured it
	Killer    Kind = "killer"    // ends its process each time
)

// Topics, by the handler that each has. Strict is a consumer of its own.
const (
	Plain  = "plain"
	Batch  = "batch"
	Leased = "leased"
	Strict = "strict"
)

// Topics are all of them.
var Topics = []string{Plain, Batch, Leased, Strict}

const (
	// Events is how many events each effect publishes, to OutTopic.
	Events   = 2
	OutTopic = "out"
	// StrictKeys is how many order keys there are.
	StrictKeys = 12
	// MaxAttempts is that of the policy.
	MaxAttempts = 4
)

// Names of headers.
const (
	kindHeader   = "kind"
	amountHeader = "amount"
	causeHeader  = "cause"
)

// Sum is a hash of payload and metadata.
func Sum(payload []byte, metadata map[string]string) string {
	h := sha256.New()
	for _, k := range slices.Sorted(maps.Keys(metadata)) {
		fmt.Fprintf(h, "%q=%q\n", k, metadata[k])
	}
	_, _ = h.Write(payload)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// Strings are the metadata of the wire as handlers see them.
func Strings(metadata map[string][]byte) map[string]string {
	m := make(map[string]string, len(metadata))
	for k, v := range metadata {
		m[k] = string(v)
	}
	return m
}

// Cause is the message that an event comes from.
func Cause(metadata map[string][]byte) string { return string(metadata[causeHeader]) }
