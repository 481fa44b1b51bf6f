package consumer

import (
	"errors"
	"fmt"
	"sort"
	"strings"
)

// ErrSubscriptionEnded matches the error of Run when a subscription's channel was
// closed although nobody had asked for it.
var ErrSubscriptionEnded = errors.New("subscription ended")

// ErrDrainTimeout matches the error of Run when handlers were still running after
// DrainTimeout, and names them; their messages are delivered again. A Subscribe of the
// Source that ignores its context counts as well, and so does a statement that the
// database does not answer.
var ErrDrainTimeout = errors.New("still running after the drain time")

// ErrRunning matches the error of a second Run, and of a registration after Run.
var ErrRunning = errors.New("the consumer has been started")

// BatchError is returned by a handler of HandleBatch that knows which messages
// failed: their indexes, and why. Everything the handler wrote is rolled back, and
// the others are handled again without those.
type BatchError map[int]error

// Error names how many failed, and the first of them.
func (e BatchError) Error() string {
	indexes := make([]int, 0, len(e))
	for i := range e {
		indexes = append(indexes, i)
	}
	sort.Ints(indexes)
	if len(indexes) == 0 {
		return "no message of the batch failed"
	}
	return fmt.Sprintf("%d of the batch failed, first #%d: %v", len(e), indexes[0], e[indexes[0]])
}

// Unwrap returns the errors.
func (e BatchError) Unwrap() []error {
	list := make([]error, 0, len(e))
	for _, err := range e {
		list = append(list, err)
	}
	return list
}

// FailedAt returns the errors by index.
func (e BatchError) FailedAt() map[int]error { return e }

// mistakes gathers what is wrong with the registrations.
type mistakes []error

func (m mistakes) err() error {
	if len(m) == 0 {
		return nil
	}
	texts := make([]string, len(m))
	for i, err := range m {
		texts[i] = err.Error()
	}
	return fmt.Errorf("register handlers: %s", strings.Join(texts, "; "))
}
