package dlq

import (
	"github.com/headrace/headrace/internal/encode"
)

// Limits of a Failure, in bytes.
const (
	maxError = 4 << 10
	maxType  = 200
)

// Failure describes an error that made a handler fail. Every field fits a text column:
// valid UTF-8, no NUL, capped.
type Failure struct {
	// Error is the error's message, at most 4 KiB; Type the Go type that says most
	// about it.
	Error string
	Type  string
	// Chain has the types and messages of the error and the errors that it wraps,
	// outermost first and joined errors in their order: at most 16 entries of at most 500
	// bytes.
	Chain []string
	// Fingerprint is a hash of the reason: failures with the same reason share it, although
	// numbers, ids and quoted words in their messages differ.
	Fingerprint string
	// Stack is the stack of a panic: see CapStack; "" if there was no panic.
	Stack string
}

// Describe returns the Failure of err. stack is the result of debug.Stack from the
// recovered panic, nil for any other error. Describe accepts every error: it describes
// errors whose methods panic and errors that wrap themselves as well as it can. For nil
// it returns the zero Failure.
//
// Credentials in the texts are masked, as far as they can be recognised; redact, which may
// be nil, then rewrites each text.
func Describe(err error, stack []byte, redact func(string) string) Failure {
	if err == nil {
		return Failure{}
	}
	links, _ := encode.Chain(err, maxLinks+1) // one more than a chain holds, to know whether there are more
	reason := reasonOf(links)
	return Failure{
		Error:       encode.Text(encode.Redact(messageOf(err), redact), maxError),
		Type:        encode.Text(typeOf(reason), maxType),
		Chain:       chainOf(links, redact),
		Fingerprint: fingerprint(reason, stack),
		Stack:       CapStack(stack),
	}
}
