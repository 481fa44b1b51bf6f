package regress

import (
	"context"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/retry"
)

// loop is an error that wraps itself.
type loop struct{}

func (l loop) Error() string { return "loop" }
func (l loop) Unwrap() error { return l }

// extremes are results of a handler at the edge of what it may return or publish.
var extremes = []struct {
	name string
	run  func(tx *headrace.Tx) error
	// waits says that the message is put off for as long as it may be: so are those behind it
	// in a strict order.
	waits bool
}{
	{name: "an error that wraps itself", run: func(*headrace.Tx) error { return loop{} }},
	{name: "a text of 10 MB with NUL", run: func(*headrace.Tx) error { return retry.Permanent(textError(strings.Repeat("x\x00\xff", 3<<20))) }},
	{name: "After the longest time", waits: true, run: func(*headrace.Tx) error { return retry.After(math.MaxInt64, errBoom) }},
	{name: "After a negative time", run: func(*headrace.Tx) error { return retry.After(-time.Hour, errBoom) }},
	{name: "Postpone for the longest time", waits: true, run: func(*headrace.Tx) error { return retry.Postpone(math.MaxInt64, errBoom) }},
	{name: "Postpone within the longest time", waits: true, run: func(*headrace.Tx) error { return retry.PostponeWithin(math.MaxInt64, math.MaxInt64, errBoom) }},
	{name: "a topic with NUL", run: func(tx *headrace.Tx) error { return tx.Publish(headrace.Event{Topic: "a\x00b", Value: 1}) }},
	{name: "a topic that is no UTF-8", run: func(tx *headrace.Tx) error { return tx.Publish(headrace.Event{Topic: "a\xff", Value: 1}) }},
	{name: "an id with NUL", run: func(tx *headrace.Tx) error { return tx.Publish(headrace.Event{Topic: "t", ID: "a\x00b", Value: 1}) }},
	{name: "an order key of 1 MB", run: func(tx *headrace.Tx) error {
		return tx.Publish(headrace.Event{Topic: "t", OrderKey: strings.Repeat("k", 1<<20), Value: 1})
	}},
	{name: "an order key with NUL", run: func(tx *headrace.Tx) error {
		return tx.Publish(headrace.Event{Topic: "t", OrderKey: "a\x00\xff", Value: 1})
	}},
	{name: "headers of any bytes", run: func(tx *headrace.Tx) error {
		return tx.Publish(headrace.Event{Topic: "t", Metadata: map[string]string{"\x00\xff": "\x00\xff", "": ""}, Value: 1})
	}},
	{name: "a trace of any bytes", run: func(tx *headrace.Tx) error {
		return tx.Publish(headrace.Event{Topic: "t", Trace: headrace.TraceContext{Parent: "a\x00\xff", State: strings.Repeat("s\x00", 1<<16)}, Value: 1})
	}},
	{name: "an answer of any bytes", run: func(tx *headrace.Tx) error { return headrace.Answer(tx, []byte("\x00\xff")) }},
	{name: "an entity with NUL", run: func(tx *headrace.Tx) error {
		_, err := tx.Newer(context.Background(), "a\x00b", 1)
		return err
	}},
}

type textError string

func (e textError) Error() string { return string(e) }

// Whatever a handler returns or publishes, its message ends, in the bound of its attempts or of
// its postponements, and its neighbours are applied.
//
//evidence:neighbours
func TestExtremesOfAHandler(t *testing.T) {
	t.Parallel()
	for i, extreme := range extremes {
		t.Run(extreme.name, func(t *testing.T) {
			t.Parallel()
			onEachWay(t, onEachStore, inTurn(i, everyWay), func(f *fixture, w way) {
				if extreme.waits && w.name == leased.name {
					return
				}
				const culprit, n = "m3", 6
				config := f.configOf(w)
				config.Concurrency, config.Retry = 1, attempts(2)
				_, all := together(f, f.consumer(f.st, config), w, n, func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[body]) error {
					if err := insert(ctx, tx, m); err != nil || m.ID != culprit {
						return err
					}
					return extreme.run(tx)
				})
				f.acked(all...)
				f.appliedOnce(neighbours(n, culprit)...)
				if extreme.waits {
					f.eventually("it is put off", func() bool { return f.count("SELECT count(*) FROM headrace_backlog WHERE due_at IS NOT NULL") == 1 })
					return
				}
				f.eventually("it has ended", func() bool { return f.ended(culprit) })
				if n := len(f.attempts(culprit)); n > 2 {
					f.Errorf("%d attempts", n)
				}
			})
		})
	}
}
