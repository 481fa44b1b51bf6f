package headrace

import "time"

// Delivery is one arrival of a message at a handler. The same message may be
// delivered many times; Scope and Key say which message it is.
//
// A Delivery is shared between the framework and the handler. Payload and
// Metadata must not be modified.
type Delivery struct {
	// Scope is the consumer and the handler, "billing/orders.paid". Two handlers
	// never share a key.
	Scope string
	// Key stands for the intent of the message, unique within Scope. See package inbox.
	Key string
	// Fingerprint is a hash of what the message says. The same Key with another
	// Fingerprint is a conflict.
	Fingerprint string
	// OrderKey names the messages that must be handled in order of arrival; empty
	// means that this one may be handled beside any other.
	OrderKey string

	// ID is the message's own id as its sender or broker gave it (Watermill's
	// UUID); empty if it had none.
	ID string
	// Topic is the topic that the message was received from.
	Topic string
	// Payload holds the bytes as they came.
	Payload []byte
	// Metadata holds the headers as they came; never nil.
	Metadata map[string]string
	// Coordinates say where on the broker the message stood; zero if unknown.
	Coordinates Coordinates
	// Trace is the W3C trace context that came with the message; zero if none.
	Trace TraceContext
	// ReplyTopic is where what a Watermill Router's handler returns is published;
	// empty for handlers that return nothing.
	ReplyTopic string

	// Attempt counts the runs of the handler for this message, this one included,
	// as far as this process knows: 1 on the first. A redelivery after a crash may
	// start at 1 again in the handler's eyes; the recorded attempts go on.
	Attempt int
	// ReceivedAt is when this process received the delivery, by its own clock. It
	// is for logs and latency only; nothing stored depends on it.
	ReceivedAt time.Time
}

// Coordinates say where a message stood on its broker, in the broker's own terms
// as text. Fields that a broker does not have stay empty.
type Coordinates struct {
	Broker    string `json:"broker,omitempty"`    // "kafka", "amqp", "sqs", "nats"
	Topic     string `json:"topic,omitempty"`     // topic, queue or stream; with its incarnation where it has one
	Partition string `json:"partition,omitempty"` // partition, or empty
	Position  string `json:"position,omitempty"`  // offset, sequence, or the broker's own message id
}

// IsZero reports whether nothing is known.
func (c Coordinates) IsZero() bool { return c == Coordinates{} }

// String gives the parts joined by slashes, for people, or "" where nothing is
// known. As a key, use inbox.Position: parts may hold slashes.
func (c Coordinates) String() string {
	if c.IsZero() {
		return ""
	}
	return c.Broker + "/" + c.Topic + "/" + c.Partition + "/" + c.Position
}

// TraceContext is a W3C trace context, the values of the headers traceparent and
// tracestate. It stands in every stored row, so that a trace goes on after a
// delay, a redrive or the outbox.
type TraceContext struct {
	Parent string // traceparent
	State  string // tracestate
}

// Names of the metadata entries that carry a W3C trace context.
const (
	TraceParentHeader = "traceparent"
	TraceStateHeader  = "tracestate"
)

// maxTrace bounds what is kept of either header: the W3C recommendation asks
// carriers to propagate at least 512 characters of tracestate.
const maxTrace = 512

// TraceFrom reads the trace context from metadata. A value that is longer than 512
// bytes or is not printable ASCII is dropped, since it only serves observation; a
// state without a parent means nothing.
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
	if len(s) > maxTrace {
		return false
	}
	for i := range len(s) {
		if s[i] < ' ' || s[i] > '~' {
			return false
		}
	}
	return true
}
