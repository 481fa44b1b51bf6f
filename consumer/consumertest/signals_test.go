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
)

var approval = ledger.Signal[bool]{Name: "approval", Timeout: 72 * time.Hour}

// approved applies a charge that a person approves, and one that no person has looked at.
func approved(p *consumertest.Process) (*consumer.Consumer, error) {
	c, err := consumer.New("shop", p.Store, consumer.Config{Source: p.Source, Logger: p.Logger})
	if err != nil {
		return nil, err
	}
	consumer.HandleLeased(c, "orders.placed", func(ctx context.Context, m *headrace.Message[Order]) (headrace.Effects, error) {
		ok, err := approval.Await(ctx)
		said := map[bool]string{true: "yes", false: "no"}[ok]
		if errors.Is(err, ledger.ErrNoSignal) {
			said, err = "nothing", nil
		}
		return func(ctx context.Context, tx *headrace.Tx) error {
			_, err := tx.ExecContext(ctx, "INSERT INTO charges (order_id, charge_id) VALUES ($1, $2)", m.Body.ID, said)
			return err
		}, err
	}, consumer.Steps(approval))
	return c, nil
}

const said = "SELECT count(*) FROM charges WHERE order_id = $1 AND charge_id = $2"

// A message waits for its signal, over crashes, until the test sends it.
func TestSignals(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		k := consumertest.New(t, d, approved)
		k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
		k.CrashAt(consumertest.BeforeCommit)
		k.Deliver(placed)
		k.Steps(placed).Awaits("approval")
		k.Steps(placed).Send("approval", true)
		k.AppliedOnce(placed, said, "1", "yes")
	})
}

// The same until the time of the signal is over.
func TestSignalThatDoesNotCome(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		k := consumertest.New(t, d, approved)
		k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
		k.Deliver(placed)
		k.Steps(placed).Awaits("approval")
		k.Steps(placed).Expire("approval")
		k.AppliedOnce(placed, said, "1", "nothing")
	})
}
