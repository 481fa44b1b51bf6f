package schedule_test

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
	"github.com/headrace/headrace/schedule"
)

// A tick that has called another system runs again after a failure although its successor is
// due meanwhile: skipped, it would leave the call without its effects, or open for ever.
//
//evidence:schedule
func TestBegunTickIsNotSkipped(t *testing.T) {
	charge := ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: ledger.Forever}
	noAnswer := errors.New("no answer")
	both := []string{"h@2026-03-01T13:00:00Z", "h@2026-03-01T14:00:00Z"}
	for name, c := range map[string]struct {
		first error
		want  []string
	}{
		"its call is done": {nil, both}, "its call has no answer": {noAnswer, both}, "its call did nothing": {ledger.Refused(noAnswer), both[1:]},
	} {
		t.Run(name, func(t *testing.T) {
			onEachStore(t, func(b *bed) {
				var runs, calls atomic.Int64
				called, goOn := make(chan struct{}), make(chan struct{})
				s := schedule.Schedule{Name: "h", Cron: "@hourly"}
				b.known(s, noon.Add(time.Minute))
				b.start([]schedule.Schedule{s}, func(on *consumer.Consumer, src *schedule.Source, name string) {
					schedule.HandleLeased(on, src, name, func(ctx context.Context, m *headrace.Message[schedule.Tick]) (headrace.Effects, error) {
						_, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) {
							if calls.Add(1) == 1 {
								return "ch_1", c.first
							}
							return "ch_2", nil
						})
						if runs.Add(1) == 1 {
							close(called)
							<-goOn
							return nil, errors.Join(noAnswer, err)
						}
						return func(ctx context.Context, tx *headrace.Tx) error { return insert(ctx, tx, m.Body) }, err
					}, consumer.Steps(charge), consumer.Retry(retry.Policy{MaxAttempts: 3, Backoff: retry.Backoff{Initial: time.Millisecond, Max: time.Millisecond, Factor: 1}}))
				})
				b.set(noon.Add(time.Hour))
				<-called
				b.set(noon.Add(2 * time.Hour))
				b.eventually("its successor is due", func() bool { return b.number("SELECT count(*) FROM headrace_inbox") == 2 })
				close(goOn)
				b.until(len(c.want))
				if got := b.done(); !slices.Equal(got, c.want) {
					b.Errorf("handled %v", got)
				}
				if n := b.number("SELECT count(*) FROM headrace_dead_letters"); n > 0 {
					b.Errorf("%d dead letters", n)
				}
			})
		})
	}
}
