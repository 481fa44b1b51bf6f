package consumer

import (
	"fmt"
	"maps"
	"slices"

	"github.com/headrace/headrace/internal/runtime"
	"github.com/headrace/headrace/internal/subscription"
)

// ErrSubscriptionEnded matches the error of Run when the source closed a subscription's
// channel although the consumer had not closed it.
var ErrSubscriptionEnded = runtime.ErrSubscriptionEnded

// ErrUnavailable matches an error of a source's Check or Subscribe if the broker cannot be
// reached, does not answer, or says that it cannot serve now: Run is not ready, stays alive
// and tries again. Any other error ends Run: a problem that only a person can fix must not stay
// hidden. A source wraps it: fmt.Errorf("%w: %w", consumer.ErrUnavailable, err).
var ErrUnavailable = subscription.ErrUnavailable

// ErrDrainTimeout matches the error of Run when handlers were still running after
// DrainTimeout, and names them; their messages are delivered again. A Subscribe of the
// Source that ignores its context counts as well, and so does a statement that the
// database does not answer.
var ErrDrainTimeout = runtime.ErrDrainTimeout

// ErrRunning matches the error of a second Run, and of registrations after Run or Attach.
var ErrRunning = runtime.ErrRunning

// ErrNotRunning matches the error of Ready and Alive before Run and after it.
var ErrNotRunning = runtime.ErrNotRunning

// BatchError is the error of a HandleBatch handler that knows which messages failed:
// their indexes, and why. All writes of the handler are rolled back, and it runs again
// for the other messages.
type BatchError map[int]error

// Error returns how many failed, and the first error.
func (e BatchError) Error() string {
	indexes := slices.Sorted(maps.Keys(e))
	if len(indexes) == 0 {
		return "no message of the batch failed"
	}
	return fmt.Sprintf("%d of the batch failed, first #%d: %v", len(e), indexes[0], e[indexes[0]])
}

// Unwrap returns the errors.
func (e BatchError) Unwrap() []error { return slices.Collect(maps.Values(e)) }

// FailedAt returns the errors by index.
func (e BatchError) FailedAt() map[int]error { return e }
