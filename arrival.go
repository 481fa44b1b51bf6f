package headrace

import (
	"context"
	"time"
)

// Arrival is a source's information about a delivery in addition to its id, payload and
// metadata. The zero value means none.
type Arrival struct {
	// Coordinates are the message's position on the broker.
	Coordinates Coordinates
	// OrderKey is the broker's own name for messages that belong in order, such as
	// Kafka's record key. It is the order key unless the consumer has its own function.
	// For published messages the relay sets it to the event's OrderKey, so that a sink
	// can set the broker's.
	OrderKey string
	// Time is Delivery.Time; zero if the broker has none.
	Time time.Time
	// Unreadable says why a codec cannot read the record. Its payload then is the
	// record's raw bytes, and the delivery becomes an undecodable dead letter, whose key
	// comes from the message's id or the Coordinates. The text is stored with the letter,
	// so it must not contain any part of the payload.
	Unreadable error
}

type arrivalKey struct{}

// WithArrival returns a context that carries a. A source sets it on each Watermill
// message (msg.SetContext), and the consumer reads it.
func WithArrival(ctx context.Context, a Arrival) context.Context {
	return context.WithValue(ctx, arrivalKey{}, a)
}

// ArrivalFrom returns the Arrival of WithArrival; zero if there is none.
func ArrivalFrom(ctx context.Context) Arrival {
	a, _ := ctx.Value(arrivalKey{}).(Arrival)
	return a
}
