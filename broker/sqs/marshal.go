package sqs

import (
	"cmp"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/outbox"
)

// attributesMost is how many attributes a message of SQS may have.
const attributesMost = 10

// stringType is the type of every attribute that is sent.
const stringType = "String"

// outgoing is a message in the form for SQS and SNS.
type outgoing struct {
	index      int // in the call of Publish
	body       string
	attributes map[string]string
	group      string // of a FIFO queue or topic
	dedup      string
	bytes      int
}

// marshal makes the messages of one Publish. Each has at most limit bytes.
func marshal(messages []*message.Message, fifo bool, limit int, o shared, topic string) ([]outgoing, error) {
	made := make([]outgoing, len(messages))
	for i, m := range messages {
		made[i] = marshalOne(m)
		made[i].index = i
		if made[i].bytes > limit {
			return nil, fmt.Errorf("message %d of %d has %d bytes with its attributes, and %d are allowed: %w", i+1, len(messages), made[i].bytes, limit, outbox.ErrTooLarge)
		}
		if fifo {
			made[i].group, made[i].dedup = groupOf(o.orderKey(topic, m), m.UUID), dedupOf(m.UUID, o.byID)
		}
	}
	return made, nil
}

func marshalOne(m *message.Message) outgoing {
	body, how := writeBody(m.Payload)
	attributes := make(map[string]string, min(len(m.Metadata)+3, attributesMost))
	if how != "" {
		attributes[BodyAttribute] = how
	}
	rest := make(map[string]string)
	if m.UUID != "" && legal(m.UUID) {
		attributes[UUIDAttribute] = m.UUID
	} else if m.UUID != "" {
		rest[UUIDAttribute] = m.UUID // readers of ours find it there too
	}
	var fit []string
	for name, value := range m.Metadata {
		if attributeName(name) && legal(value) {
			fit = append(fit, name)
		} else if _, id := rest[name]; !id {
			rest[name] = value
		}
	}
	slices.SortFunc(fit, func(a, b string) int { return cmp.Or(cmp.Compare(rank(a), rank(b)), cmp.Compare(a, b)) })
	room := attributesMost - len(attributes)
	if len(rest) > 0 || len(fit) > room {
		room--
	}
	for i, name := range fit {
		if i < room {
			attributes[name] = m.Metadata[name]
		} else {
			rest[name] = m.Metadata[name]
		}
	}
	if len(rest) > 0 {
		attributes[MetadataAttribute] = packed(rest)
	}
	bytes := len(body)
	for name, value := range attributes {
		bytes += len(name) + len(stringType) + len(value)
	}
	return outgoing{body: body, attributes: attributes, bytes: bytes}
}

// first are the names that get attributes of their own before others do: readers in other
// languages need them.
var first = append([]string{headrace.ContentTypeHeader}, dlq.Headers()...)

func rank(name string) int {
	if i := slices.Index(first, name); i >= 0 {
		return i
	}
	return len(first)
}

// orderKeyOf is the default of the OrderKey options: the relay's order key.
func orderKeyOf(_ string, m *message.Message) string {
	return headrace.ArrivalFrom(m.Context()).OrderKey
}

// idMost is the longest id of a group and of a deduplication.
const idMost = 128

// groupOf returns the message group: the order key. A message without one is a group of
// its own, so that it does not wait for another.
func groupOf(orderKey, id string) string {
	switch {
	case orderKey != "":
		return fifoID(orderKey)
	case id != "":
		return fifoID(id)
	}
	return rand.Text()
}

// dedupOf returns the deduplication id, a new one for each Publish: SQS confirms but
// drops a message whose id it has seen within five minutes, even if it is a redrive. The
// retries of the SDK use the same id.
func dedupOf(id string, byID bool) string {
	if byID && id != "" {
		return fifoID(id)
	}
	return rand.Text()
}

// fifoID returns s if SQS accepts it as an id, otherwise its hash.
func fifoID(s string) string {
	if len(s) <= idMost && strings.IndexFunc(s, func(r rune) bool { return r <= ' ' || r > '~' }) < 0 {
		return s
	}
	sum := sha256.Sum256([]byte(s))
	return "sha256-" + hex.EncodeToString(sum[:])
}
