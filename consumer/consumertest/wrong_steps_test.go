package consumertest_test

import (
	"testing"
	"time"

	"github.com/headrace/headrace/consumer/consumertest"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// Retry repeats the key, for a system that does not drop it.
var repeated = ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: 24 * time.Hour}

// A call that is carried out twice, or not to its end, is not made once.
func TestStepNotCalledOnceIsFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		bank := consumertest.NewSystem()
		bank.LoseAnswer(1)
		k := newCharging(t, consumertest.SQLite(), repeated, bank)
		k.Deliver(placed)
		k.Steps(placed).CalledOnce(bank, "charge")
	}), "CalledOnce: step charge was carried out 2 times, want 1")
	says(t, failure(func(t testing.TB) {
		bank := consumertest.NewSystem()
		bank.Fail(1, consumertest.ErrNoAnswer)
		k := newCharging(t, consumertest.SQLite(), ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Park}, bank)
		k.Deliver(placed)
		k.Steps(placed).CalledOnce(bank, "charge")
		k.Steps(placed).CalledOnce(bank, "other")
	}), "CalledOnce: step charge is parked, not done", "the outcome of a call is unknown", "CalledOnce: step charge was carried out 0 times, want 1",
		`no step "other" is recorded of orders.placed`, "charge parked after 1 calls")
}

// A step that waits less long than the system works on a call, and one that repeats a key
// for longer than the system knows it.
func TestTimesOfAStepThatDoNotFitAreFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		bank := consumertest.NewSystem(consumertest.Finds(), consumertest.CarriesOnAfterCancel(5*time.Minute))
		bank.LoseAnswer(1)
		k := newCharging(t, consumertest.SQLite(), ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Probe, Find: bank.Find, FindAfter: time.Minute}, bank)
		k.Deliver(placed)
		k.Steps(placed).CalledOnce(bank, "charge")
	}), "CalledOnce: step charge was carried out 2 times, want 1")
	says(t, failure(func(t testing.TB) {
		bank := consumertest.NewSystem(consumertest.Dedups(time.Hour))
		bank.LoseAnswer(1)
		k := newCharging(t, consumertest.SQLite(), repeated, bank)
		k.FailAttempt(placed, 2, consumertest.BeforeEffects, retry.After(2*time.Hour, errTotal))
		k.Deliver(placed)
		k.Steps(placed).CalledOnce(bank, "charge")
	}), "CalledOnce: step charge was carried out 2 times, want 1")
}

// A step that is done needs no person.
func TestStepNotParkedIsFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		bank := consumertest.NewSystem()
		k := newCharging(t, consumertest.SQLite(), repeated, bank)
		k.Deliver(placed)
		k.Steps(placed).Parked("charge")
	}), "Parked: step charge is done", "DeadLettered: no open dead letter")
}

// A message whose signal has come waits for none.
func TestSignalNotAwaitedIsFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		k := consumertest.New(t, consumertest.SQLite(), approved)
		k.Exec("CREATE TABLE charges (order_id TEXT, charge_id TEXT)")
		k.Deliver(placed)
		k.Steps(placed).Awaits("approval")
		k.Steps(placed).Send("approval", true)
		k.Steps(placed).Awaits("approval")
	}), "Awaits: signal approval is done")
	says(t, failure(func(t testing.TB) {
		bank := consumertest.NewSystem()
		k := newCharging(t, consumertest.SQLite(), repeated, bank)
		k.Deliver(placed)
		k.Steps(placed).Awaits("approval")
	}), `no step "approval" is recorded of orders.placed`, "charge done after 1 calls")
}

// An answer that no call could lose has proved nothing.
func TestFaultOfASystemThatDidNotHappenIsFound(t *testing.T) {
	says(t, failure(func(t testing.TB) {
		bank := consumertest.NewSystem()
		bank.LoseAnswer(5)
		bank.Fail(3, consumertest.ErrNoAnswer)
		k := newCharging(t, consumertest.SQLite(), repeated, bank)
		k.Deliver(placed)
		k.Steps(placed).CalledOnce(bank, "charge")
	}), "LoseAnswer: there were 1 calls of the system, and no call 5", "Fail: there were 1 calls of the system, and no call 3")
}
