package header

import (
	"fmt"
	"strings"
)

// Missing is the error of a header that a message does not have.
type Missing struct{ Name string }

// Error names the header.
func (m *Missing) Error() string { return fmt.Sprintf("header %q", m.Name) }

// Value returns the value of the header called name; if there is none, of one whose name
// differs only in case, and of several such the first in byte order.
func Value(metadata map[string]string, name string) (value string, ok bool) {
	if value, ok := metadata[name]; ok {
		return value, true
	}
	found := ""
	for n, v := range metadata {
		if strings.EqualFold(n, name) && (found == "" || n < found) {
			found, value = n, v
		}
	}
	return value, found != ""
}

// ContentType returns the header Content-Type, or content_type, with which some brokers
// have it; "" if there is neither.
func ContentType(metadata map[string]string) string {
	if value, _ := Value(metadata, "Content-Type"); value != "" {
		return value
	}
	value, _ := Value(metadata, "content_type")
	return value
}

// IsMediaType reports whether a content type, which may have parameters, is t.
func IsMediaType(contentType, t string) bool {
	contentType, _, _ = strings.Cut(contentType, ";")
	return strings.EqualFold(strings.TrimSpace(contentType), t)
}

// StructuredEvent is the media type of a CloudEvent in structured mode.
const StructuredEvent = "application/cloudevents+json"

// Prefixes of the names of headers that have a CloudEvent's attributes in binary mode.
const (
	EventHTTP  = "ce-" // NATS too
	EventKafka = "ce_"
	EventAMQP  = "cloudEvents_"
	eventColon = "cloudEvents:" // AMQP too, but JMS cannot read it
)

// EventPrefixes are all of them, in the order in which they are looked for.
var EventPrefixes = [...]string{EventHTTP, EventKafka, EventAMQP, eventColon}

// EventAttribute returns the name of the attribute that a header has, and the index of its
// prefix; ok is false if the header has none.
func EventAttribute(header string) (attribute string, prefix int, ok bool) {
	for i, p := range EventPrefixes {
		if len(header) > len(p) && strings.EqualFold(header[:len(p)], p) {
			return header[len(p):], i, true
		}
	}
	return "", 0, false
}
