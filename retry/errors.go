package retry

import (
	"errors"
	"fmt"
	"time"
)

// permanentError marks an error that no retry will mend.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent returns err marked as one that no retry will mend: the attempt counts,
// and the message becomes a dead letter at once. Its text is that of err. nil stays
// nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether err or anything that it wraps was made by Permanent.
func IsPermanent(err error) bool {
	var p *permanentError
	return errors.As(err, &p)
}

// afterError carries a delay that the handler knows better than the policy.
type afterError struct {
	delay time.Duration
	err   error
}

func (e *afterError) Error() string { return fmt.Sprintf("%v (again after %s)", e.err, e.delay) }
func (e *afterError) Unwrap() error { return e.err }

// After returns err with the wish to be tried again after d, as a server's
// Retry-After asks for. The attempt counts, and no attempt beyond
// Policy.MaxAttempts is made for it. d replaces the backoff as it is, without
// jitter and whatever Backoff.Max says; a negative d means 0, one above MaxDelay
// means MaxDelay. nil stays nil.
func After(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &afterError{delay: min(max(d, 0), MaxDelay), err: err}
}

// delayOf returns the delay of the outermost After in err's chain.
func delayOf(err error) (time.Duration, bool) {
	var a *afterError
	if !errors.As(err, &a) {
		return 0, false
	}
	return a.delay, true
}
