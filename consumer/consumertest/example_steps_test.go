package consumertest_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// payments is a program whose handler has a step. The step and what it calls come from
// outside: in the program call posts to the bank, in a test it is the Call of a System.
func payments(p *consumertest.Process, charge ledger.Step[string], call func(context.Context, *ledger.Call) (string, error)) (*consumer.Consumer, error) {
	c, err := consumer.New("shop", p.Store, consumer.Config{Source: p.Source, Logger: p.Logger, Retry: retry.Policy{MaxAttempts: 5}})
	if err != nil {
		return nil, err
	}
	consumer.HandleLeased(c, "orders.placed", func(ctx context.Context, m *headrace.Message[Order]) (headrace.Effects, error) {
		id, err := charge.Input(m.Body.Total).Do(ctx, call)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context, tx *headrace.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO charges (order_id, charge_id) VALUES ($1, $2)", m.Body.ID, id)
			return err
		}, nil
	}, consumer.Steps(charge))
	return c, nil
}

// An answer of the bank is lost, and the message comes back two hours later. The bank drops
// repetitions of a key for an hour, and the step repeats it for a day.
func ExampleSystem() {
	charge := ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}
	placed := consumertest.JSON("orders.placed", "order-1", Order{ID: "1", Total: 4200})
	for _, window := range []time.Duration{24 * time.Hour, time.Hour} {
		run(func(t testing.TB) {
			bank := consumertest.NewSystem(consumertest.Dedups(window))
			k := consumertest.New(t, consumertest.SQLite(), func(p *consumertest.Process) (*consumer.Consumer, error) {
				return payments(p, charge, bank.Call)
			})
			k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
			bank.LoseAnswer(1)
			k.FailAttempt(placed, 2, consumertest.BeforeEffects, retry.After(2*time.Hour, errors.New("the bank is closed")))
			k.Deliver(placed)
			k.AppliedOnce(placed, "SELECT count(*) FROM charges WHERE order_id = $1", "1")
			k.Steps(placed).CalledOnce(bank, "charge")
		})
	}
	// Output:
	// PASS
	// FAIL: CalledOnce: step charge was carried out 2 times, want 1: orders.placed id "order-1" {"id":"1","total":4200}
}
