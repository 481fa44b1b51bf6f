package regress

import (
	"context"
	"testing"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/inbox"
)

// matchesAll is an error whose Is says yes to every error.
type matchesAll struct{}

func (matchesAll) Error() string { return "everything" }
func (matchesAll) Is(error) bool { return true }

// A handler's error that matches every error ends its own message as a dead letter, and
// holds up no other. Before, it matched the error of a handler that is not run: the whole
// batch was given back, again and again. Later it matched that of a stale message, which
// was done without its effects.
//
//evidence:neighbours
func TestErrorThatMatchesAll(t *testing.T) {
	t.Parallel()
	onEachWay(t, onEachStore, []way{inBatch, fromBacklog}, func(f *fixture, w way) {
		const culprit, n = "m3", 10
		config := f.config()
		config.Concurrency, config.Retry = 1, attempts(2)
		_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
			if m.ID == culprit {
				return matchesAll{}
			}
			return insert(ctx, tx, m)
		})
		f.acked(all...)
		f.eventually("the culprit is dead", func() bool { return f.state(culprit) == inbox.Dead })
		f.appliedOnce(neighbours(n, culprit)...)
	})
}
