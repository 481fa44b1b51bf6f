package headrace

import (
	"strings"
	"time"
)

// Delivery is one arrival of a message at a handler. The same message may be
// delivered many times; Scope and Key say which message it is.
//
// A Delivery is shared between the framework and the handler. Payload and
// Metadata must not be modified.
type Delivery struct {
	// Scope is the consumer and the handler, "billing/orders.paid". Two handlers
	// never share a key.
	Scope string
	// Key identifies the message, unique within Scope. See package inbox.
	Key string
	// Fingerprint is a hash of the message's content. The same Key with another
	// Fingerprint is a conflict.
	Fingerprint string
	// OrderKey names the messages that must be handled in order of arrival; empty means
	// that this one may be handled concurrently with any other.
	OrderKey string

	// ID is the message's own id from its sender or broker (Watermill's UUID); empty if
	// it had none.
	ID string
	// Topic is the topic that the message was received from.
	Topic string
	// Payload holds the bytes as they came. It is nil if the broker says that there is no
	// value (a Kafka tombstone), which is not an empty one.
	Payload []byte
	// Metadata holds the headers as they came; never nil.
	Metadata map[string]string
	// Coordinates are the message's position on the broker; zero if unknown.
	Coordinates Coordinates
	// Time is when the message was sent or stored, by the clock of its sender or broker: see
	// docs/brokers.md. It survives the backlog and the dead letter; zero if unknown.
	Time time.Time
	// Trace is the W3C trace context that came with the message; zero if none.
	Trace TraceContext
	// ReplyTopic is the topic for the messages that a Watermill Router's handler returns;
	// empty for handlers that return none.
	ReplyTopic string

	// Database is the id of the database's headrace, for IdempotencyKey. Only handlers
	// have it; elsewhere it is empty.
	Database string

	// Attempt counts the runs of the handler for this message, including this one, as far
	// as this process knows: 1 on the first. After a crash it may start at 1 again; the
	// recorded attempts continue.
	Attempt int
	// ReceivedAt is when this process received the delivery, by its own clock. It
	// is for logs and latency only; nothing stored depends on it.
	ReceivedAt time.Time
}

// Message is a delivery whose body has been decoded into T.
type Message[T any] struct {
	Delivery
	// Body is the decoded Payload.
	Body T
}

// Coordinates are the position of a message on its broker, in the broker's own terms as
// text. Fields that a broker does not have stay empty.
type Coordinates struct {
	Broker    string `json:"broker,omitempty"`    // "kafka", "amqp", "sqs", "nats"
	Topic     string `json:"topic,omitempty"`     // topic, queue or stream; with its incarnation if it has one
	Partition string `json:"partition,omitempty"` // partition, or empty
	Position  string `json:"position,omitempty"`  // offset, sequence, or the broker's own message id
}

// IsZero reports whether all fields are empty.
func (c Coordinates) IsZero() bool { return c == Coordinates{} }

// String returns the parts joined by slashes, for people, or "" if all are empty. As a
// key, use inbox.Position: parts may contain slashes.
func (c Coordinates) String() string {
	if c.IsZero() {
		return ""
	}
	return c.Broker + "/" + c.Topic + "/" + c.Partition + "/" + c.Position
}

// TraceContext is a W3C trace context, the values of the headers traceparent and
// tracestate. It is in every stored row, so that a trace continues after a delay, a
// redrive or the outbox.
type TraceContext struct {
	Parent string // traceparent
	State  string // tracestate
}

// Names of the metadata entries that carry a W3C trace context.
const (
	TraceParentHeader = "traceparent"
	TraceStateHeader  = "tracestate"
)

// maxTrace bounds the length of either header: the W3C recommendation asks carriers to
// propagate at least 512 characters of tracestate.
const maxTrace = 512

// TraceFrom reads the trace context from metadata. It drops a value that is longer than
// 512 bytes or not printable ASCII, since traces are only for observation, and a state
// without a parent.
func TraceFrom(metadata map[string]string) TraceContext {
	t := TraceContext{Parent: metadata[TraceParentHeader], State: metadata[TraceStateHeader]}
	if t.Parent == "" || !traceable(t.Parent) {
		return TraceContext{}
	}
	if !traceable(t.State) {
		t.State = ""
	}
	return t
}

func traceable(s string) bool {
	return len(s) <= maxTrace && !strings.ContainsFunc(s, func(c rune) bool { return c < ' ' || c > '~' })
}
