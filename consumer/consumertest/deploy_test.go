package consumertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// A deploy renames a step, and forgets Was: the message waits a quarter of an hour, which takes
// no time, and then needs a person.
func TestRenameWithoutWas(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		bank := consumertest.NewSystem(consumertest.Dedups(24 * time.Hour))
		renamed := repeated
		renamed.Name = "payment"
		builds := []ledger.Step[string]{repeated, renamed}
		k := consumertest.New(t, d, func(p *consumertest.Process) (*consumer.Consumer, error) {
			step := builds[0]
			builds = builds[len(builds)-1:]
			return payments(p, step, bank.Call)
		})
		k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
		k.CrashAt(consumertest.StepRecorded)
		k.Deliver(placed)
		k.Steps(placed).Parked("charge")
		if bank.Calls() != 1 {
			t.Errorf("%d calls", bank.Calls())
		}
	})
}

// A message is put off for as long as its policy lets it be, and then that is an attempt.
func TestPostponedForTooLong(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		closed := errors.New("the bank is closed")
		k := consumertest.New(t, d, func(p *consumertest.Process) (*consumer.Consumer, error) {
			c, err := consumer.New("shop", p.Store, consumer.Config{Source: p.Source, Logger: p.Logger, Retry: retry.Policy{MaxAttempts: 2, MaxPostpone: 3 * time.Hour}})
			if err != nil {
				return nil, err
			}
			consumer.HandleLeased(c, "orders.placed", func(context.Context, *headrace.Message[Order]) (headrace.Effects, error) {
				return nil, retry.Postpone(time.Hour, closed)
			})
			return c, nil
		})
		k.Deliver(placed)
		if l := k.DeadLettered(placed, dlq.Exhausted, closed); l.Attempts != 2 {
			t.Errorf("%d attempts", l.Attempts)
		}
	})
}
