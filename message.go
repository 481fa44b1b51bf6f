package headrace

// Message is a delivery whose body has been decoded into T.
type Message[T any] struct {
	Delivery
	// Body is what the codec read from Payload.
	Body T
}
