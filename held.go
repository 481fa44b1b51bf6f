package headrace

import (
	"errors"

	"github.com/headrace/headrace/internal/chain"
)

// ErrOrder matches the error of inbox.Middleware, retry.Middleware and dlq.Middleware
// where they do not stand in their order: dlq, retry, inbox, the handler. It also matches
// that of inbox.Middleware and consumer.Attach (of Router.Run) where another middleware
// undoes what they promise. Its text says what to do. The message stays unacknowledged;
// only that which InstantAck acknowledged outside of inbox.Middleware does not.
var ErrOrder = chain.ErrOrder

// HeldError is the error of a message that nothing can be said of yet, because what
// failed is no fault of it: the database does not answer, or a program is put together
// wrongly. retry.Middleware and dlq.Middleware pass it on as it is, so that it spends
// no attempt and makes no dead letter; the message stays unacknowledged and is
// delivered again.
type HeldError struct {
	// Err says what failed.
	Err error
}

// Error gives the text of Err, marked.
func (e *HeldError) Error() string { return "held: " + e.Err.Error() }

// Unwrap returns Err.
func (e *HeldError) Unwrap() error { return e.Err }

// IsHeld reports whether err says that its message is to be left as it is: it wraps a
// HeldError or matches ErrOrder.
func IsHeld(err error) bool {
	var held *HeldError
	return errors.As(err, &held) || errors.Is(err, ErrOrder)
}
