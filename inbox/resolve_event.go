package inbox

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/header"
)

// CloudEvents returns a KeyFunc that returns the source and the id of a CloudEvent,
// joined as by Join; by its specification they are unique together.
//
// In binary mode the attributes are headers: ce-id (HTTP, NATS), ce_id (Kafka),
// cloudEvents_id or cloudEvents:id (AMQP). In structured mode they are members of a JSON
// payload with content type application/cloudevents+json, or with a member specversion. A
// CloudEvent without id or source is malformed; any other message is absent.
func CloudEvents() KeyFunc {
	structured, version := Join(JSON("source"), JSON("id")), JSON("specversion")
	return func(d *headrace.Delivery) (string, error) {
		key, err := binaryEvent(d)
		if err == nil || !errors.Is(err, ErrAbsent) {
			return key, err
		}
		declared := header.IsMediaType(header.ContentType(d.Metadata), header.StructuredEvent)
		if !declared && !looksStructured(d, version) {
			return "", err
		}
		if key, err = structured(d); err != nil {
			return "", fmt.Errorf("%w: CloudEvent: %s", ErrMalformed, err)
		}
		return key, nil
	}
}

func binaryEvent(d *headrace.Delivery) (string, error) {
	for i, seen := range seenPrefixes(d) {
		if !seen {
			continue
		}
		prefix := header.EventPrefixes[i]
		source, _ := header.Value(d.Metadata, prefix+"source")
		id, _ := header.Value(d.Metadata, prefix+"id")
		if source != "" && id != "" {
			return join(source, id), nil
		}
		if version, _ := header.Value(d.Metadata, prefix+"specversion"); version != "" {
			return "", fmt.Errorf("%w: CloudEvent: header %sid or %ssource is missing", ErrMalformed, prefix, prefix)
		}
	}
	return "", errNoEvent
}

// errNoEvent is made once: most messages are not CloudEvents.
var errNoEvent = fmt.Errorf("%w: CloudEvent", ErrAbsent)

// seenPrefixes reports which of header.EventPrefixes a header's name starts with, in one
// pass over the headers.
func seenPrefixes(d *headrace.Delivery) (seen [len(header.EventPrefixes)]bool) {
	for name := range d.Metadata {
		if _, i, ok := header.EventAttribute(name); ok {
			seen[i] = true
		}
	}
	return seen
}

// looksStructured looks for the member that every CloudEvent has and few other messages;
// the search for its bytes saves parsing most payloads.
func looksStructured(d *headrace.Delivery, version KeyFunc) bool {
	if !bytes.Contains(d.Payload, []byte(`"specversion"`)) || !json.Valid(d.Payload) {
		return false
	}
	_, err := version(d)
	return err == nil
}
