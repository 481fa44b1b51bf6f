package dlq

import (
	"maps"
	"strconv"

	"github.com/headrace/headrace"
)

// Names of the metadata entries of the copy of a letter. A message's own entries of
// these names are overwritten in the copy; the letter keeps them.
const (
	HeaderLetter           = "headrace_letter"            // the letter's id
	HeaderClass            = "headrace_class"             // why: see Class
	HeaderError            = "headrace_error"             // the last error's message
	HeaderErrorFingerprint = "headrace_error_fingerprint" // the group
	HeaderConsumer         = "headrace_consumer"
	HeaderHandler          = "headrace_handler"
	HeaderTopic            = "headrace_topic" // where the message came from
	HeaderKey              = "headrace_key"
	HeaderAttempts         = "headrace_attempts"
)

// Copy returns the event for the dead-letter topic of l: payload and metadata as they
// came, and the entries named above. It has no order key, so that no copy waits behind
// another.
func Copy(l Letter, topic string) headrace.Event {
	metadata := make(map[string]string, len(l.Delivery.Metadata)+9)
	maps.Copy(metadata, l.Delivery.Metadata)
	metadata[HeaderLetter] = strconv.FormatInt(l.LetterID, 10)
	metadata[HeaderClass] = string(l.Class)
	metadata[HeaderError] = l.Error
	metadata[HeaderErrorFingerprint] = l.ErrorFingerprint
	metadata[HeaderConsumer] = l.Consumer
	metadata[HeaderHandler] = l.Handler
	metadata[HeaderTopic] = l.Delivery.Topic
	metadata[HeaderKey] = l.Delivery.Key
	metadata[HeaderAttempts] = strconv.Itoa(l.Attempts)
	return headrace.Event{
		Topic: topic, Payload: l.Delivery.Payload, Tombstone: l.Delivery.Payload == nil, Metadata: metadata, Trace: l.Delivery.Trace,
	}
}
