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
	// Transient is every failure that none of the other classes covers.
	Transient Class = "transient"
	// Timeout: the attempt's deadline passed, or that of something it called.
	Timeout Class = "timeout"
	// Panic: the handler panicked; see PanicError.
	Panic Class = "panic"
	// Lost: the lease of a leased handler ended and was not given back, because its
	// process was killed, frozen or cut off. Classify never says so.
	Lost Class = "lost"
	// PermanentFailure: the handler said with Permanent that no retry will help.
	PermanentFailure Class = "permanent"
)

// Classify returns the class of a handler's error, or "" for nil. Permanent counts
// wherever it stands in the chain, and before everything else.
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

// retryable reports whether failures of class c may be retried at all.
func (c Class) retryable() bool { return c == Transient || c == Timeout || c == Panic || c == Lost }
