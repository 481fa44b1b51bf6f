package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
)

// CloudEvents returns a KeyFunc that takes the source and the id of a CloudEvent,
// which together are unique by its specification, as Join would.
//
// In binary mode the attributes are headers: ce-id (HTTP, NATS), ce_id (Kafka),
// cloudEvents_id or cloudEvents:id (AMQP). In structured mode they are members of a
// JSON payload, told by the content type application/cloudevents+json or by a member
// specversion. What says that it is a CloudEvent and lacks id or source is
// malformed; anything else is absent, batches of events too.
func CloudEvents() KeyFunc {
	source, id, version := JSON("source"), JSON("id"), JSON("specversion")
	return func(d *headrace.Delivery) (string, error) {
		key, err := binaryEvent(d)
		if err == nil || !errors.Is(err, ErrAbsent) {
			return key, err
		}
		declared := hasMediaType(d, "application/cloudevents+json")
		if !declared && !looksStructured(d, version) {
			return "", err
		}
		values := make([]string, 2)
		for i, f := range []KeyFunc{source, id} {
			if values[i], err = f(d); err != nil {
				return "", fmt.Errorf("%w: CloudEvent: %s", ErrMalformed, err)
			}
		}
		return join(values...), nil
	}
}

// eventPrefixes are what bindings put before an attribute's name.
var eventPrefixes = []string{"ce-", "ce_", "cloudEvents_", "cloudEvents:"}

func binaryEvent(d *headrace.Delivery) (string, error) {
	for i, seen := range seenPrefixes(d) {
		if !seen {
			continue
		}
		prefix := eventPrefixes[i]
		source, id := header(d, prefix+"source"), header(d, prefix+"id")
		if source != "" && id != "" {
			return join(source, id), nil
		}
		if header(d, prefix+"specversion") != "" {
			return "", fmt.Errorf("%w: CloudEvent: header %sid or %ssource is missing", ErrMalformed, prefix, prefix)
		}
	}
	return "", errNoEvent
}

// errNoEvent is made once: most messages of most consumers are no CloudEvents.
var errNoEvent = fmt.Errorf("%w: CloudEvent", ErrAbsent)

// seenPrefixes reports which of eventPrefixes a header's name starts with, in one
// pass over the headers.
func seenPrefixes(d *headrace.Delivery) (seen [4]bool) {
	for name := range d.Metadata {
		if name == "" || lower(name[0]) != 'c' {
			continue
		}
		for i, prefix := range eventPrefixes {
			if len(name) > len(prefix) && equalFold(name[:len(prefix)], prefix) {
				seen[i] = true
			}
		}
	}
	return seen
}

// looksStructured looks for the one member that every CloudEvent has and hardly
// anything else; the search for its bytes spares most payloads the parse.
func looksStructured(d *headrace.Delivery, version KeyFunc) bool {
	if !bytes.Contains(d.Payload, []byte(`"specversion"`)) || !json.Valid(d.Payload) {
		return false
	}
	_, err := version(d)
	return err == nil
}
