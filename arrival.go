package headrace

import "context"

// Arrival is what a source says of a delivery beside its id, payload and metadata. The
// zero value says nothing.
type Arrival struct {
	// Coordinates say where the message stood on the broker.
	Coordinates Coordinates
	// OrderKey is the broker's own name for messages that belong in order, as Kafka's
	// record key is. It is the order key unless the consumer has a function of its own. On
	// the way out the relay sets it to the event's OrderKey, for a sink to make the
	// broker's own of it.
	OrderKey string
	// Unreadable says why the record is no message that a codec could be given. Its
	// payload then is the record's raw bytes, and the delivery becomes an undecodable
	// dead letter, whose key comes from the message's id or the Coordinates. The text is
	// kept with the letter, so it must hold nothing of the payload.
	Unreadable error
}

type arrivalKey struct{}

// WithArrival returns a context that carries a. A source sets it on each Watermill
// message (msg.SetContext), and the consumer reads it.
func WithArrival(ctx context.Context, a Arrival) context.Context {
	return context.WithValue(ctx, arrivalKey{}, a)
}

// ArrivalFrom returns what WithArrival stored; zero if nothing.
func ArrivalFrom(ctx context.Context) Arrival {
	a, _ := ctx.Value(arrivalKey{}).(Arrival)
	return a
}

// WithCoordinates is WithArrival for a source that knows its coordinates and no more.
func WithCoordinates(ctx context.Context, c Coordinates) context.Context {
	return WithArrival(ctx, Arrival{Coordinates: c})
}

// CoordinatesFrom returns the coordinates of ArrivalFrom; zero if there are none.
func CoordinatesFrom(ctx context.Context) Coordinates { return ArrivalFrom(ctx).Coordinates }
