package dlq

import (
	"github.com/headrace/headrace/internal/encode"
)

// Limits of what is kept of a failure, in bytes.
const (
	maxError = 4 << 10
	maxType  = 200
)

// Failure is what is kept of an error that made a handler fail. Every field fits a
// text column: valid UTF-8, no NUL, capped.
type Failure struct {
	// Error is the error's message, at most 4 KiB; Type the Go type that says most
	// about it.
	Error string
	Type  string
	// Chain holds what the error wraps: see Chain.
	Chain []string
	// Print groups failures with the same reason: see Fingerprint.
	Print string
	// Stack is the stack of a panic: see CapStack; "" if it was none.
	Stack string
}

// Describe returns what is kept of err. stack is what debug.Stack returned where a
// panic was recovered, nil for any other error. It is total: errors whose methods
// panic and errors that wrap themselves are described as well as they can be, and
// nil gives the zero Failure.
func Describe(err error, stack []byte) Failure {
	if err == nil {
		return Failure{}
	}
	links := unwrap(err)
	return Failure{
		Error: encode.Text(messageOf(err), maxError),
		Type:  encode.Text(typeOf(links), maxType),
		Chain: chainOf(links),
		Print: fingerprint(links, stack),
		Stack: CapStack(stack),
	}
}
