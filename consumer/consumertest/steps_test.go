package consumertest_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/consumer"
	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/retry"
)

// charging is a program whose handler has a step that calls a system.
func charging(step ledger.Step[string], bank *consumertest.System) consumertest.Wire {
	return func(p *consumertest.Process) (*consumer.Consumer, error) { return payments(p, step, bank.Call) }
}

var placed = consumertest.JSON("orders.placed", "order-1", Order{ID: "1", Total: 4200})

const charges = "SELECT count(*) FROM charges WHERE order_id = $1 AND charge_id = 'made-1'"

// newCharging is a kit for a step.
func newCharging(t testing.TB, d consumertest.Database, step ledger.Step[string], bank *consumertest.System) *consumertest.Kit {
	k := consumertest.New(t, d, charging(step, bank))
	k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
	return k
}

// A process crashes at each point of a step, and the charge is made once.
func TestCrashAroundAStep(t *testing.T) {
	for _, recovery := range []ledger.Recovery{ledger.Retry, ledger.Probe} {
		for i, point := range consumertest.StepPoints() {
			t.Run(fmt.Sprint(recovery, " ", point), func(t *testing.T) {
				onEachOf(t, i, func(t *testing.T, d consumertest.Database) {
					bank := consumertest.NewSystem(consumertest.Finds())
					step := ledger.Step[string]{Name: "charge", System: "bank", Recover: recovery, Find: bank.Find}
					if recovery == ledger.Retry {
						bank = consumertest.NewSystem(consumertest.Dedups(24 * time.Hour))
						step.KeyWindow, step.Find = 24*time.Hour, nil
					}
					k := newCharging(t, d, step, bank)
					k.CrashAt(point)
					k.Deliver(placed)
					k.AppliedOnce(placed, charges, "1")
					k.Steps(placed).CalledOnce(bank, "charge")
				})
			})
		}
	}
}

// What a system does, and what becomes of the step.
func TestSystem(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		bank := consumertest.NewSystem(consumertest.Finds(), consumertest.CarriesOnAfterCancel(5*time.Minute))
		bank.LoseAnswer(1)
		k := newCharging(t, d, ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Probe, Find: bank.Find, FindAfter: 5 * time.Minute}, bank)
		k.Deliver(placed)
		k.AppliedOnce(placed, charges, "1")
		k.Steps(placed).CalledOnce(bank, "charge")
		if bank.Calls() != 1 || bank.Made() != 1 {
			t.Errorf("%d calls, %d made", bank.Calls(), bank.Made())
		}
	})
}

// A message comes back when the system has forgotten its key: a person decides.
func TestSystemThatForgetsKeys(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		bank := consumertest.NewSystem(consumertest.Dedups(24 * time.Hour))
		bank.LoseAnswer(1)
		k := newCharging(t, d, ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}, bank)
		k.FailAttempt(placed, 2, consumertest.BeforeEffects, retry.After(25*time.Hour, errors.New("the day is over")))
		k.Deliver(placed)
		k.Steps(placed).Parked("charge")
		if bank.Calls() != 1 || bank.Made() != 1 {
			t.Errorf("%d calls, %d made", bank.Calls(), bank.Made())
		}
	})
}

// A refusal that the system keeps: only a new key can succeed.
func TestSystemThatKeepsErrors(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		bank := consumertest.NewSystem(consumertest.Dedups(ledger.Forever), consumertest.KeepsErrors())
		bank.Fail(1, ledger.Refused(errors.New("card declined")))
		k := newCharging(t, d, ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: ledger.Forever}, bank)
		k.Deliver(placed)
		k.AppliedOnce(placed, charges, "1")
		k.Steps(placed).CalledOnce(bank, "charge")
		if r := k.Steps(placed).Rows()[0]; r.Generation != 1 || r.Calls != 2 {
			t.Errorf("%+v", r)
		}
	})
}

// A step that needs a person is parked, and goes on when the person has decided.
func TestParkedAndResolved(t *testing.T) {
	for failure, result := range map[resolve.Decision][]byte{resolve.Done: []byte(`"made-1"`), resolve.Again: nil} {
		t.Run(string(failure), func(t *testing.T) {
			onEach(t, func(t *testing.T, d consumertest.Database) {
				bank := consumertest.NewSystem()
				if failure == resolve.Done {
					bank.LoseAnswer(1)
				} else {
					bank.Fail(1, consumertest.ErrNoAnswer)
				}
				k := newCharging(t, d, ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Park}, bank)
				k.Deliver(placed)
				k.Steps(placed).Parked("charge")
				k.Steps(placed).Resolve("charge", failure, result)
				k.AppliedOnce(placed, charges, "1")
				k.Steps(placed).CalledOnce(bank, "charge")
				if k.State(placed) != inbox.Done {
					t.Errorf("%s", k.State(placed))
				}
			})
		})
	}
}

// Two messages share an answer, although the process that makes the call crashes around it.
func TestMemo(t *testing.T) {
	for i, point := range consumertest.StepPoints() {
		t.Run(string(point), func(t *testing.T) {
			onEachOf(t, i, func(t *testing.T, d consumertest.Database) {
				model := consumertest.NewSystem()
				step := ledger.Step[string]{Name: "classify", System: "model", Recover: ledger.Retry, KeyWindow: ledger.Forever, Memo: time.Hour}
				wire := func(p *consumertest.Process) (*consumer.Consumer, error) {
					c, err := consumer.New("shop", p.Store, consumer.Config{Source: p.Source, Logger: p.Logger})
					if err != nil {
						return nil, err
					}
					consumer.HandleLeased(c, "mails", func(ctx context.Context, m *headrace.Message[Order]) (headrace.Effects, error) {
						class, err := step.Input(m.Body.Total).Do(ctx, model.Call)
						if err != nil {
							return nil, err
						}
						return func(ctx context.Context, tx *headrace.Tx) error {
							_, err := tx.ExecContext(ctx, "INSERT INTO charges (order_id, charge_id) VALUES ($1, $2)", m.Body.ID, class)
							return err
						}, nil
					}, consumer.Steps(step))
					return c, nil
				}
				k := consumertest.New(t, d, wire)
				k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
				k.CrashAt(point)
				mails := []consumertest.Message{consumertest.JSON("mails", "1", Order{"1", 7}), consumertest.JSON("mails", "2", Order{"2", 7}), consumertest.JSON("mails", "3", Order{"3", 8})}
				k.Deliver(mails...)
				for _, m := range mails {
					k.AppliedOnce(m, "SELECT count(*) FROM charges WHERE order_id = $1", m.ID)
				}
				if n := k.Count("SELECT count(DISTINCT charge_id) FROM charges"); n != 2 {
					t.Errorf("%d answers, want one for each input", n)
				}
			})
		})
	}
}

// A process crashes when a result is recorded, and the next build has another type for it: a
// letter at once, without another call.
func TestResultOfAnotherType(t *testing.T) {
	onEach(t, func(t *testing.T, d consumertest.Database) {
		bank := consumertest.NewSystem()
		step := ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Park}
		newer := ledger.Step[int]{Name: step.Name, System: step.System, Recover: step.Recover}
		wires := []consumertest.Wire{charging(step, bank), func(p *consumertest.Process) (*consumer.Consumer, error) {
			c, err := consumer.New("shop", p.Store, consumer.Config{Source: p.Source, Logger: p.Logger, Retry: retry.Policy{MaxAttempts: 5}})
			if err == nil {
				consumer.HandleLeased(c, "orders.placed", func(ctx context.Context, m *headrace.Message[Order]) (headrace.Effects, error) {
					_, err := newer.Input(m.Body.Total).Do(ctx, func(context.Context, *ledger.Call) (int, error) { return 1, errors.New("called again") })
					return nil, err
				}, consumer.Steps(newer))
			}
			return c, err
		}}
		k := consumertest.New(t, d, func(p *consumertest.Process) (*consumer.Consumer, error) {
			wire := wires[0]
			wires = wires[1:]
			return wire(p)
		})
		k.CrashAt(consumertest.StepRecorded)
		k.Deliver(placed)
		letter := k.DeadLettered(placed, dlq.Permanent, nil)
		if !strings.Contains(letter.Error, "does not fit int") || letter.Attempts != 2 || bank.Calls() != 1 { // the crash is one
			t.Errorf("%s, %d attempts, %d calls", letter.Error, letter.Attempts, bank.Calls())
		}
	})
}
