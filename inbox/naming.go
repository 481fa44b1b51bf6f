package inbox

import (
	"errors"
	"fmt"

	"github.com/ThreeDotsLabs/watermill/message"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/routed"
	"github.com/headrace/headrace/retry"
)

// Naming says which message of a Watermill Router a message is. Middlewares that share
// it agree on that.
type Naming struct {
	// Consumer and the handler's name are the scope. Handler is empty for its name in
	// the Router.
	Consumer, Handler string
	// Key and Fingerprint are DefaultKey and Payload where they are nil.
	Key         KeyFunc
	Fingerprint FingerprintFunc
}

// HandlerOf returns the name of the handler that m goes to. The error is a
// *headrace.HeldError.
func (n Naming) HandlerOf(m *message.Message) (string, error) {
	if n.Handler != "" {
		return n.Handler, nil
	}
	name := message.HandlerNameFromCtx(m.Context())
	if err := encode.Name("the handler's name", name); err != nil {
		return "", &headrace.HeldError{Err: fmt.Errorf("%w: set option Handler", err)}
	}
	return name, nil
}

// Delivery returns the delivery that m is, with key and fingerprint. With an error that
// is not held (headrace.IsHeld), no key or no fingerprint could be had, and the
// delivery has what it can be kept under: see Identify.
func (n Naming) Delivery(m *message.Message) (headrace.Delivery, error) {
	name, err := n.HandlerOf(m)
	if err != nil {
		return headrace.Delivery{}, err
	}
	if n.Key == nil {
		n.Key = DefaultKey()
	}
	if n.Fingerprint == nil {
		n.Fingerprint = Payload()
	}
	ctx := m.Context()
	d := Received(m, n.Consumer+"/"+name, message.SubscribeTopicFromCtx(ctx))
	d.ReplyTopic = routed.ReplyTopic(m)
	return d, Identify(&d, n.Key, n.Fingerprint)
}

// ConflictError is the error of a message whose key belongs to another one: the same
// key, with another fingerprint.
type ConflictError struct {
	// ID is the key that both have.
	ID ID
	// Fingerprint is that of this message, First that of the one that had the key first.
	Fingerprint, First string
}

// Error says what happened, and shows no key.
func (e *ConflictError) Error() string { return ErrConflict.Error() }

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// ErrConflict matches every ConflictError.
var ErrConflict = errors.New("the key was used before with other content")

// KeyError is the error of a message that has no usable key or fingerprint.
type KeyError struct {
	// Err matches ErrAbsent or ErrMalformed, or is the key function's own.
	Err error
}

// Error says what could not be had.
func (e *KeyError) Error() string { return "no usable key: " + e.Err.Error() }

// Unwrap returns Err.
func (e *KeyError) Unwrap() error { return e.Err }

// unusable and conflict are failures that no retry will mend.
func unusable(err error) error { return retry.Permanent(&KeyError{Err: err}) }

func conflict(d *headrace.Delivery, first Entry) error {
	return retry.Permanent(&ConflictError{ID: first.ID, Fingerprint: d.Fingerprint, First: first.Fingerprint})
}
