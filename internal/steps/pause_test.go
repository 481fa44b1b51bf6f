package steps_test

import (
	"context"
	"errors"
	"net/http"
	"testing"
	"time"

	"github.com/headrace/headrace/internal/systems"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/retry"
)

// known are the systems of one process, which knows the pauses of the database.
func (b *bed) known() *systems.Systems { return systems.New(nil, b.Store.Operations().Systems) }

// pause pauses a system, as an operator does.
func (b *bed) pause(system string, d time.Duration) {
	b.Helper()
	if _, err := b.Store.Operations().Systems.Pause(b.Context(), ledger.SystemPause{System: system, Left: d, By: "ana", Reason: "maintenance"}); err != nil {
		b.Fatal(err)
	}
}

// While a system is paused its steps record and call nothing, and their message is put off
// with jitter, however long it was before. Recorded results and other systems go on.
//
//evidence:system-pause
func TestPausedSystem(t *testing.T) {
	onEachStore(t, func(b *bed) {
		if _, err := b.do(charge.Of("old"), func(*ledger.Call) (invoice, error) { return invoice{"inv"}, nil }); err != nil {
			b.Fatal(err)
		}
		b.pause("bank", 3*time.Hour)
		b.systems, b.postponed = b.known(), 100*time.Hour
		_, err := b.do(charge, func(*ledger.Call) (invoice, error) { b.Error("called"); return invoice{}, nil })
		paused, ok := errors.AsType[*systems.PausedError](err)
		if !ok || paused.By != "ana" || paused.Reason != "maintenance" {
			b.Fatalf("%v", err)
		}
		delay, bound, ok := retry.Postponed(err)
		if !ok || delay < time.Minute || delay > 70*time.Second || bound < b.postponed+delay {
			b.Errorf("put off for %s within %s", delay, bound)
		}
		if r := b.row("charge"); r.State != "" {
			b.Errorf("the step is %s", r.State)
		}
		if got, err := b.do(charge.Of("old"), func(*ledger.Call) (invoice, error) { b.Error("called again"); return invoice{}, nil }); err != nil || got.ID != "inv" {
			b.Errorf("a recorded result: %v, %v", got, err)
		}
		erp := ledger.Step[invoice]{Name: "invoice", System: "erp", Recover: ledger.Park}
		_, ctx := b.begin(charge, erp)
		if got, err := erp.Do(ctx, func(context.Context, *ledger.Call) (invoice, error) { return invoice{"inv"}, nil }); err != nil || got.ID != "inv" {
			b.Errorf("another system: %v, %v", got, err)
		}
		if _, err := b.Store.Operations().Systems.Resume(b.Context(), "bank", "ana"); err != nil {
			b.Fatal(err)
		}
		b.systems = b.known() // a second later
		_, ctx = b.begin(charge, erp)
		if got, err := charge.Do(ctx, func(context.Context, *ledger.Call) (invoice, error) { return invoice{"inv"}, nil }); err != nil || got.ID != "inv" {
			b.Errorf("after the resume: %v, %v", got, err)
		}
	})
}

// An answer 429 pauses the system in all processes, for no longer than a minute, and never
// shortens an operator's pause.
//
//evidence:system-pause
func TestRateLimitPausesTheSystem(t *testing.T) {
	for name, c := range map[string]struct{ after, operator, least, most time.Duration }{
		"short":    {after: 20 * time.Second, least: 15 * time.Second, most: 20 * time.Second},
		"long":     {after: 10 * time.Minute, least: 50 * time.Second, most: time.Minute},
		"operator": {after: 20 * time.Second, operator: time.Hour, least: 50 * time.Minute, most: time.Hour},
	} {
		onEachStoreOf(t, name, func(b *bed) {
			b.systems = b.known()
			_, err := b.do(charge, func(*ledger.Call) (invoice, error) {
				if c.operator > 0 { // while the call is under way
					b.pause("bank", c.operator)
				}
				h := http.Header{"Retry-After": {(time.Now().Add(c.after)).UTC().Format(http.TimeFormat)}}
				return invoice{}, ledger.HTTP(&http.Response{StatusCode: http.StatusTooManyRequests, Header: h}, nil)
			})
			if _, _, ok := retry.Postponed(err); !ok {
				b.Errorf("%v", err)
			}
			b.state("charge", ledger.Failed)
			list, err := b.Store.Operations().Systems.List(b.Context())
			if err != nil || len(list) != 1 || list[0].Left < c.least || list[0].Left > c.most || (list[0].By == "") != (c.operator == 0) {
				b.Errorf("%+v, %v", list, err)
			}
			for process, known := range map[string]*systems.Systems{"this process": b.systems, "another": b.known()} {
				if err := known.Paused(b.Context(), "bank"); err == nil {
					b.Errorf("%s does not know of it", process)
				}
			}
		})
	}
}

// A refusal that is no 429 pauses nothing, although its message is put off.
func TestPostponedStepPausesNothing(t *testing.T) {
	onEachStore(t, func(b *bed) {
		b.systems = b.known()
		_, _ = b.do(charge, func(*ledger.Call) (invoice, error) {
			return invoice{}, ledger.NotSent(retry.Postpone(time.Minute, errBoom))
		})
		if list, err := b.Store.Operations().Systems.List(b.Context()); err != nil || len(list) > 0 {
			b.Errorf("%+v, %v", list, err)
		}
	})
}
