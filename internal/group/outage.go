package group

import (
	"fmt"

	"github.com/headrace/headrace/dlq"
)

// outage is the error of a handler that is nobody's failure: the store does not answer,
// or the consumer ends. Its text goes where those of our own statements go, and so has
// none of the handler's words.
type outage struct {
	err  error
	ping error // what the store said; nil where it was not asked
}

// Error tells the type of the handler's error and what groups it: see dlq.Fingerprint.
func (o outage) Error() string {
	f := dlq.Describe(o.err, nil)
	text := fmt.Sprintf("a handler was cut off: error_type %s, error_print %s", f.Type, f.Print)
	if o.ping == nil {
		return text
	}
	return fmt.Sprintf("%s: %v", text, o.ping)
}

// Unwrap returns both.
func (o outage) Unwrap() []error {
	if o.ping == nil {
		return []error{o.err}
	}
	return []error{o.err, o.ping}
}
