package dlq

import (
	"maps"
	"strconv"
	"time"

	"github.com/headrace/headrace"
)

// Names of the metadata entries of the copy of a letter, which are headers that programs in
// any language can read. An entry is left out if it would be empty. A message's own
// entries of these names are not in the copy; the letter keeps them.
const (
	HeaderLetter           = "headrace_letter"            // the letter's id
	HeaderClass            = "headrace_class"             // why: see Class
	HeaderError            = "headrace_error"             // the last error's message
	HeaderErrorFingerprint = "headrace_error_fingerprint" // the group
	HeaderConsumer         = "headrace_consumer"
	HeaderHandler          = "headrace_handler"
	HeaderTopic            = "headrace_topic"     // where the message came from
	HeaderPartition        = "headrace_partition" // see headrace.Coordinates
	HeaderPosition         = "headrace_position"  // on Kafka the offset
	HeaderTime             = "headrace_time"      // Delivery.Time in RFC 3339
	HeaderMessageID        = "headrace_message_id"
	HeaderOrderKey         = "headrace_order_key" // on Kafka the record's key, unless the consumer has its own OrderKey
	HeaderKey              = "headrace_key"       // in the inbox
	HeaderAttempts         = "headrace_attempts"
)

// Headers returns the names above, the most important first: for brokers that have room
// for few headers.
func Headers() []string {
	return []string{
		HeaderClass, HeaderTopic, HeaderPartition, HeaderPosition, HeaderMessageID, HeaderTime, HeaderAttempts,
		HeaderErrorFingerprint, HeaderOrderKey, HeaderLetter, HeaderError, HeaderHandler, HeaderConsumer, HeaderKey,
	}
}

// Copy returns the event for the dead-letter topic of l: payload and metadata as they
// came, and the entries named above. It has no order key, so that no copy waits behind
// another.
func Copy(l Letter, topic string) headrace.Event {
	d := &l.Delivery
	facts := map[string]string{
		HeaderLetter: strconv.FormatInt(l.LetterID, 10), HeaderClass: string(l.Class),
		HeaderError: l.Error, HeaderErrorFingerprint: l.ErrorFingerprint, HeaderAttempts: strconv.Itoa(l.Attempts),
		HeaderConsumer: l.Consumer, HeaderHandler: l.Handler, HeaderKey: d.Key,
		HeaderTopic: d.Topic, HeaderPartition: d.Coordinates.Partition, HeaderPosition: d.Coordinates.Position,
		HeaderMessageID: d.ID, HeaderOrderKey: d.OrderKey,
	}
	if !d.Time.IsZero() {
		facts[HeaderTime] = d.Time.UTC().Format(time.RFC3339Nano)
	}
	metadata := make(map[string]string, len(d.Metadata)+len(facts))
	maps.Copy(metadata, d.Metadata)
	for _, name := range Headers() {
		if delete(metadata, name); facts[name] != "" {
			metadata[name] = facts[name]
		}
	}
	return headrace.Event{Topic: topic, Payload: d.Payload, Tombstone: d.Payload == nil, Metadata: metadata, Trace: d.Trace}
}
