package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// replayed is how many steps of a message are done when it runs again.
const replayed = 100

// errReplay fails the first run of a message.
var errReplay = errors.New("run again")

// runReplay measures what a step costs that is done, when its message runs again: from the
// first step, which reads the rows, to the last one. Processor time is not told: most of it
// is for the first runs.
func runReplay(d driver) func(context.Context, *lab, amount) (Figure, error) {
	return func(ctx context.Context, l *lab, a amount) (Figure, error) {
		var took, steps, calls atomic.Int64
		var h histogram
		effects := invoicing(l.query("invoice"), 0)
		run := func(ctx context.Context) (made int64, err error) {
			before := calls.Load()
			for i := range replayed {
				_, err := called.Of(strconv.Itoa(i)).Do(ctx, func(context.Context, *ledger.Call) (string, error) { calls.Add(1); return "made", nil })
				if err != nil {
					return 0, err
				}
			}
			return calls.Load() - before, nil
		}
		work := func(ctx context.Context, m *headrace.Message[order]) (headrace.Effects, error) {
			began := time.Now()
			made, err := run(ctx)
			switch {
			case err != nil:
				return nil, err
			case made > 0:
				return nil, errReplay
			}
			one := time.Since(began)
			h.add(one)
			took.Add(int64(one))
			steps.Add(replayed)
			return func(ctx context.Context, tx *headrace.Tx) error { return effects(ctx, tx, m) }, nil
		}
		figure, n, err := l.apply(ctx, a, application{
			inFlight: 2, window: 2, untilApplied: true, mayFail: true, open: l.storeWith(d),
			register: func(c *consumer.Consumer) {
				consumer.HandleLeased(c, ordersTopic, work, consumer.Steps(called), consumer.Concurrency(1),
					consumer.Retry(retry.Policy{MaxAttempts: 3, Immediate: 2}))
			},
		})
		if err != nil {
			return Figure{}, err
		}
		if steps.Load() != int64(n)*replayed || calls.Load() != int64(n)*replayed {
			return Figure{}, fmt.Errorf("verify: of %d messages %d steps were called and %d replayed", n, calls.Load(), steps.Load())
		}
		seconds := time.Duration(took.Load()).Seconds()
		return Figure{
			Rate: float64(steps.Load()) / seconds, Messages: figure.Messages, Seconds: seconds,
			P50: float64(h.percentile(0.5)) / float64(time.Millisecond), P99: float64(h.percentile(0.99)) / float64(time.Millisecond),
			Allocated: figure.Allocated,
		}, l.verify(ctx, "count_headrace", n)
	}
}
