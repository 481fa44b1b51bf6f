package retry

import (
	"fmt"
	"time"
)

// Failure is an attempt that failed.
type Failure struct {
	// Class is the class of Err.
	Class Class
	// Err is the handler's error, or a PanicError.
	Err error
	// Took is how long the attempt ran, and At when it failed, by this process's clock.
	Took time.Duration
	At   time.Time
}

// keptFailures bounds ExhaustedError.Failures.
const keptFailures = 100

// ExhaustedError is the error of Middleware for a message that it gives up: the
// attempts are spent, or the last failure was permanent. It wraps that one's error.
type ExhaustedError struct {
	// Attempts is how many were made, since this process received the message.
	Attempts int
	// Class is the class of the last failure, and Err its error.
	Class Class
	Err   error
	// First and Last are when the first and the last attempt failed, by this process's
	// clock.
	First, Last time.Time
	// Failures are the attempts, oldest first: of more than 100 the first one and the
	// last 99.
	Failures []Failure
}

// Error says how many attempts were made, and the last error's text.
func (e *ExhaustedError) Error() string {
	if e.Attempts == 1 {
		return fmt.Sprintf("gave up after 1 attempt: %v", e.Err)
	}
	return fmt.Sprintf("gave up after %d attempts: %v", e.Attempts, e.Err)
}

// Unwrap returns Err.
func (e *ExhaustedError) Unwrap() error { return e.Err }

// add takes in one more failure.
func (e *ExhaustedError) add(f Failure) {
	if e.Attempts == 0 {
		e.First = f.At
	}
	e.Attempts++
	e.Class, e.Err, e.Last = f.Class, f.Err, f.At
	if len(e.Failures) == keptFailures {
		copy(e.Failures[1:], e.Failures[2:])
		e.Failures = e.Failures[:keptFailures-1]
	}
	e.Failures = append(e.Failures, f)
}
