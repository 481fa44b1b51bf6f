package retry

import (
	"errors"
	"fmt"
	"time"
)

// permanentError marks an error that no retry will fix.
type permanentError struct{ err error }

func (e *permanentError) Error() string { return e.err.Error() }
func (e *permanentError) Unwrap() error { return e.err }

// Permanent returns err, marked as an error that no retry will fix: the attempt counts,
// and the message becomes a dead letter at once. Its text is that of err. nil stays nil.
func Permanent(err error) error {
	if err == nil {
		return nil
	}
	return &permanentError{err}
}

// IsPermanent reports whether err or an error that it wraps was made by Permanent.
func IsPermanent(err error) bool {
	_, ok := errors.AsType[*permanentError](err)
	return ok
}

// afterError carries a delay that the handler has chosen instead of the policy.
type afterError struct {
	delay time.Duration
	err   error
}

func (e *afterError) Error() string { return fmt.Sprintf("%v (again after %s)", e.err, e.delay) }
func (e *afterError) Unwrap() error { return e.err }

// After returns err with a request to run again after d, such as a server's Retry-After.
// The attempt counts, and Policy.MaxAttempts still applies. d replaces the backoff,
// without jitter and also above Backoff.Max; a negative d means 0, one above MaxDelay
// means MaxDelay. nil stays nil.
func After(d time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &afterError{delay: min(max(d, 0), MaxDelay), err: err}
}

// delayOf returns the delay of the outermost After in err's chain.
func delayOf(err error) (time.Duration, bool) {
	if a, ok := errors.AsType[*afterError](err); ok {
		return a.delay, true
	}
	return 0, false
}

// postponeError says that it is too early for the message.
type postponeError struct {
	delay, bound time.Duration
	err          error
}

func (e *postponeError) Error() string { return fmt.Sprintf("%v (postponed for %s)", e.err, e.delay) }
func (e *postponeError) Unwrap() error { return e.err }

// Postpone returns err with a request to run again after d, without spending an attempt:
// for a rate limit, a destination that is paused, data that does not exist yet. The
// handler's writes are rolled back. A negative d means 0, and no wait exceeds the bound:
// the message runs once more when it is reached. nil stays nil.
//
// The bound is Policy.MaxPostpone since the first postponement without an attempt in
// between. If a message is postponed again after that, it has failed: an attempt is
// spent, and the policy decides. Permanent takes precedence over Postpone.
func Postpone(d time.Duration, err error) error { return PostponeWithin(d, 0, err) }

// PostponeWithin is Postpone with its own bound instead of Policy.MaxPostpone; a bound of
// 0 means that of the policy. It is for packages that know how long their messages may
// wait.
func PostponeWithin(d, bound time.Duration, err error) error {
	if err == nil {
		return nil
	}
	return &postponeError{delay: min(max(d, 0), MaxDelay), bound: max(bound, 0), err: err}
}

// Postponed returns the arguments of the outermost Postpone in err's chain; false if
// there is none. bound is 0 if the policy's applies.
func Postponed(err error) (delay, bound time.Duration, ok bool) {
	if p, ok := errors.AsType[*postponeError](err); ok {
		return p.delay, p.bound, true
	}
	return 0, 0, false
}
