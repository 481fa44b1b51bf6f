package ledger

import (
	"errors"

	"github.com/headrace/headrace/retry"
)

// undecided is an error whose outcome is unknown, although HTTP has called it permanent.
type undecided struct{ all, cause error }

func (e *undecided) Error() string { return e.all.Error() }
func (e *undecided) Unwrap() error { return e.cause }

// Undecided returns err, an error of the call c, so that the message is retried where HTTP has
// called an answer final, and another request of the call may have done something. Any other stays
// as it is. Package internal/steps calls it.
func Undecided(err error, c *Call) error {
	m, ok := errors.AsType[*marked](err)
	if !ok || m == nil || m.hops == 0 || !retry.IsPermanent(err) || CertaintyOf(err, c) != Unknown {
		return err
	}
	return &undecided{all: err, cause: m.err}
}

// Marked returns the error in err that HTTP, Refused, NotSent or Exists has marked: of HTTP it is
// the status, which names nothing of the message. Without one it is err.
func Marked(err error) error {
	if m, ok := errors.AsType[*marked](err); ok && m != nil {
		return m.err
	}
	return err
}
