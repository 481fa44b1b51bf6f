package steps_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// A step waits for its system's limit before its mark: if it cannot begin, nothing is
// recorded, and the message runs later without an attempt.
//
//evidence:system-limits
func TestLimitBeforeMark(t *testing.T) {
	erp := ledger.Step[string]{Name: "invoice", System: "erp", Recover: ledger.Retry, KeyWindow: ledger.Forever}
	for name, c := range map[string]struct {
		limit ledger.Limit
		why   error
	}{
		"concurrent": {ledger.Limit{Concurrent: 1}, context.DeadlineExceeded},
		"per second": {ledger.Limit{PerSecond: 0.001}, nil},
	} {
		onEachStoreOf(t, name, func(b *bed) {
			b.systems = systems.New(map[string]ledger.Limit{"erp": c.limit}, nil)
			v, err := b.systems.Enter(b.Context(), "erp") // another message is there
			if err == nil {
				err = v.Call(b.Context())
			}
			if err != nil {
				b.Fatal(err)
			}
			_, ctx := b.begin(erp, payoutStep)
			short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
			defer cancel()
			_, err = erp.Do(short, func(context.Context, *ledger.Call) (string, error) { b.Error("called"); return "", nil })
			if _, _, ok := retry.Postponed(err); !ok || c.why != nil && !errors.Is(err, c.why) {
				b.Errorf("%v", err)
			}
			if r := b.row("invoice"); r.State != "" {
				b.Errorf("the step is %s", r.State)
			}
			if got, err := payoutStep.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "po", nil }); err != nil || got != "po" {
				b.Errorf("a system without a limit: %q, %v", got, err)
			}
			v.Leave()
			if c.limit.PerSecond > 0 {
				return
			}
			_, ctx = b.begin(erp, payoutStep)
			if got, err := erp.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "inv", nil }); err != nil || got != "inv" {
				b.Errorf("%q, %v", got, err)
			}
		})
	}
}

// Each step gives its place back, whatever came of its call, and a recorded result needs none.
func TestLimitIsGivenBack(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.systems = systems.New(map[string]ledger.Limit{"erp": {Concurrent: 1}}, nil)
		erp := ledger.Step[string]{
			Name: "invoice", System: "erp", Recover: ledger.Probe,
			Find: func(context.Context, *ledger.Call) (string, bool, error) { return "", false, nil },
		}
		answers := map[string]func(context.Context, *ledger.Call) (string, error){
			"not sent": func(context.Context, *ledger.Call) (string, error) { return "", ledger.NotSent(io.ErrUnexpectedEOF) },
			"exists":   func(context.Context, *ledger.Call) (string, error) { return "", ledger.Exists(io.ErrUnexpectedEOF) },
			"unknown":  func(context.Context, *ledger.Call) (string, error) { return "", io.ErrUnexpectedEOF },
			"panic":    func(context.Context, *ledger.Call) (string, error) { panic("no result") },
			"done":     func(context.Context, *ledger.Call) (string, error) { return "inv", nil },
		}
		for name, f := range answers {
			_, ctx := b.begin(erp)
			_, _ = erp.Of(name).Do(ctx, f)
			v, err := b.systems.Enter(ctx, "erp")
			if err != nil {
				b.Fatalf("%s: %v", name, err)
			}
			_, ctx = b.begin(erp)
			if name == "done" { // its place is taken, and it needs none
				if got, err := erp.Of(name).Do(ctx, f); err != nil || got != "inv" {
					b.Errorf("%q, %v", got, err)
				}
			}
			v.Leave()
		}
		b.state("invoice/done", ledger.Done)
	})
}

var payoutStep = ledger.Step[string]{Name: "payout", System: "bank", Recover: ledger.Park}
