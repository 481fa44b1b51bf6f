package alerts

import (
	"context"
	"time"
)

// Sink sends alerts to one receiver. Calls come one at a time for each sink, from a goroutine
// that does no other work: a slow or failing sink never delays or rolls back a message, or
// another sink. Alerts with the same Key come in order.
type Sink interface {
	// Name names the sink for people and for templates, and with where it sends (see Addressed)
	// in rows of the database and in headrace alert ls. It is short, holds no secret, stays the
	// same from start to start, and is unique in a process.
	Name() string
	// Send sends an alert, and returns nil when the receiver has it. ctx ends after 10
	// seconds, and when the consumer closes. After an error or a panic the same alert, with
	// the same ID, is tried again later, until it is a day old. An error that is a
	// [SendError] says when, or that it is of no use. Send may get an alert again that the
	// receiver has: if the process or the database died before the success was recorded.
	Send(ctx context.Context, a Alert) error
}

// Addressed is a Sink that says where it sends. Processes whose sinks have the same name and
// Address share the record of what was sent, so a receiver gets each alert about the whole
// database once. A sink that is not Addressed belongs to its consumer alone.
type Addressed interface {
	Sink
	// Address differs for each receiver and for each choice of what it gets. It is short, holds no
	// secret, and stays the same from start to start.
	Address() string
}

// Repeated is a Sink whose receiver forgets. Besides what a Sink gets, it is sent Again what has fired
// for each Every, beside Options.PerMinute.
type Repeated interface {
	Sink
	// Every is the time between two sends; more than 0.
	Every() time.Duration
}

// SendError says why a sink could not send an alert. Only its Reason is stored and logged, not
// the texts of other errors.
type SendError struct {
	// Reason contains no secret, and only the host of a URL.
	Reason string
	// Status is the HTTP status of the response; 0 if there was none.
	Status int
	// RetryAfter is the least time before another try; 0 if unspecified.
	RetryAfter time.Duration
	// Refused says that the receiver will never take this alert: it is not tried again, and
	// counts as lost.
	Refused bool
	// Err is the cause for errors.Is, or nil. It is not part of the text.
	Err error
}

// Error returns the reason.
func (e *SendError) Error() string { return "alert not sent: " + e.Reason }

// Unwrap returns the cause.
func (e *SendError) Unwrap() error { return e.Err }

// Hook is a Sink that is a function: see [Sink] for how it is called. Its name is "hook".
type Hook func(ctx context.Context, a Alert) error

// Name returns "hook".
func (h Hook) Name() string { return "hook" }

// Send calls h.
func (h Hook) Send(ctx context.Context, a Alert) error { return h(ctx, a) }
