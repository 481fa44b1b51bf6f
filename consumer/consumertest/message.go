package consumertest

import (
	"encoding/json"
	"fmt"
	"maps"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
)

// Message is what a sender sends. A Message delivered twice is one message that comes
// again: same bytes, same id, same headers.
type Message struct {
	// Topic is the topic of the delivery. Required.
	Topic string
	// ID is Watermill's UUID; "" if the sender sets none.
	ID string
	// Payload is the body, byte for byte.
	Payload []byte
	// Metadata are the headers. May be nil.
	Metadata map[string]string
	// Coordinates are the message's place on its broker; zero if unknown.
	Coordinates headrace.Coordinates

	arrival headrace.Arrival // of a tick
}

// JSON returns a message whose payload is body as JSON. It panics if body cannot be
// encoded.
func JSON(topic, id string, body any) Message {
	payload, err := json.Marshal(body)
	if err != nil {
		panic(fmt.Sprintf("consumertest.JSON: %v", err))
	}
	return Message{Topic: topic, ID: id, Payload: payload}
}

// With returns a copy of m with one more header.
func (m Message) With(header, value string) Message {
	m.Metadata = maps.Clone(m.Metadata)
	if m.Metadata == nil {
		m.Metadata = make(map[string]string)
	}
	m.Metadata[header] = value
	return m
}

// String describes m: its topic, id and payload.
func (m Message) String() string {
	return fmt.Sprintf("%s id %q %s", m.Topic, m.ID, shown(m.Payload))
}

// watermill returns m as a subscriber gives it. It shares no memory with m.
func (m Message) watermill() *message.Message {
	made := message.NewMessage(m.ID, append([]byte(nil), m.Payload...))
	maps.Copy(made.Metadata, m.Metadata)
	arrival := m.arrival
	arrival.Coordinates = m.Coordinates
	if arrival != (headrace.Arrival{}) {
		made.SetContext(headrace.WithArrival(made.Context(), arrival))
	}
	return made
}

// maxShown is how many bytes of a payload a failure shows.
const maxShown = 300

// shown returns a readable payload. In a test, payloads may be shown.
func shown(payload []byte) string {
	if len(payload) > maxShown {
		return fmt.Sprintf("%q… (%d bytes)", payload[:maxShown], len(payload))
	}
	if json.Valid(payload) {
		return string(payload)
	}
	return fmt.Sprintf("%q", payload)
}
