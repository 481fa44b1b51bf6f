package retry

import (
	"context"
	"errors"
	"os"
)

// Class says how an attempt failed. It is stored with the attempt.
type Class string

// The classes of a failure.
const (
	// Transient is every failure outside of the other classes.
	Transient Class = "transient"
	// Timeout: the deadline of the attempt passed, or that of a call it made.
	Timeout Class = "timeout"
	// Panic: the handler panicked; see PanicError.
	Panic Class = "panic"
	// Lost: the lease of a leased handler ended and was not given back, because its
	// process was killed, frozen or cut off. Classify never returns it.
	Lost Class = "lost"
	// PermanentFailure: the handler said with Permanent that no retry will help.
	PermanentFailure Class = "permanent"
)

// Classify returns the class of a handler's error, or "" for nil. Permanent anywhere in
// the chain takes precedence over all other classes.
func Classify(err error) Class {
	var panicked *PanicError
	switch {
	case err == nil:
		return ""
	case IsPermanent(err):
		return PermanentFailure
	case errors.As(err, &panicked):
		return Panic
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, os.ErrDeadlineExceeded):
		return Timeout
	}
	return Transient
}
