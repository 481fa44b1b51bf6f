package lease_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/lease"
	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
	"github.com/headrace/headrace/retry"
)

var (
	charge = ledger.Step[string]{Name: "charge", System: "bank", Recover: ledger.Retry, KeyWindow: ledger.Forever}
	payout = ledger.Step[string]{Name: "payout", System: "bank", Recover: ledger.Park}
)

// stepped is a leased handler with the steps charge and payout.
func stepped(f *enginetest.Fixture, attempts int, work func(ctx context.Context, in task.Input) (headrace.Effects, error)) *task.Handler {
	h := worked(work)
	h.Leased.Plan, h.Policy = planOf(f, charge, payout), enginetest.Attempts(attempts)
	return h
}

func planOf(f *enginetest.Fixture, declared ...ledger.Declared) *plan.Plan {
	f.Helper()
	p, err := plan.New(declared...)
	if err != nil {
		f.Fatal(err)
	}
	return p
}

// ends works the message off, also from the backlog, until it has this state.
func (p *process) ends(key string, want inbox.State) {
	p.F.Helper()
	p.F.Eventually(key+" is "+string(want), func() bool {
		p.Round(p.Engine.Worker(p.h))
		return p.F.State(p.h, key) == want
	})
}

// theLetter waits until the message is dead, and returns its letter.
func (p *process) theLetter(key string) dlq.Letter {
	p.F.Helper()
	p.ends(key, inbox.Dead)
	letters := p.F.Letters()
	if len(letters) != 1 {
		p.F.Fatalf("%d letters", len(letters))
	}
	return letters[0]
}

// Steps of the work are recorded, and its effects committed with them.
func TestWorkWithSteps(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		calls := 0
		h := stepped(f, 2, func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			id, err := charge.Do(ctx, func(_ context.Context, c *ledger.Call) (string, error) { calls++; return c.Key, nil })
			if err != nil {
				return nil, err
			}
			if runs.Next(in.Delivery.Key) == 1 {
				return nil, enginetest.ErrBoom
			}
			if id == "" {
				f.Error("the second run has no result")
			}
			return nil, nil
		})
		p := newProcess(f, h, "m")
		p.run(nil)
		p.ends("m", inbox.Done)
		p.end()
		if n := f.Effects("m"); n != 1 || calls != 1 {
			f.Errorf("%d effects, %d calls", n, calls)
		}
	})
}

// A message is not done while one of its steps is open, whatever its handler returns: also
// where this run does not come to the step.
//
//evidence:open-step
func TestOpenStepIsNotDone(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		h := stepped(f, 2, func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			if runs.Next(in.Delivery.Key) == 1 { // and the other runs do not come to it
				_, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "", io.ErrUnexpectedEOF })
				if err == nil {
					f.Error("an unknown outcome is no error")
				}
			}
			return nil, nil
		})
		p := newProcess(f, h, "m")
		p.run(nil)
		l := p.theLetter("m")
		p.end()
		if l.Class != dlq.Parked || l.Attempts != 2 || !strings.Contains(l.Error, "step charge (bank) is pending") || f.Effects("m") != 0 {
			f.Errorf("%s after %d attempts: %s", l.Class, l.Attempts, l.Error)
		}
		for _, a := range f.Attempts(h, "m") {
			if !strings.Contains(a.Error, ledger.ErrOpenStep.Error()) {
				f.Errorf("attempt: %s", a.Error)
			}
		}
	})
}

// A handler may pass over a step that did nothing, or was skipped: its message is done.
func TestFailedStepIsPassedOver(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		mail := ledger.Step[struct{}]{Name: "mail", System: "mail", Recover: ledger.Skip}
		h := worked(func(ctx context.Context, _ task.Input) (headrace.Effects, error) {
			_, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "", ledger.Refused(enginetest.ErrBoom) })
			if !errors.Is(err, enginetest.ErrBoom) {
				f.Errorf("refused: %v", err)
			}
			_, err = mail.Do(ctx, func(context.Context, *ledger.Call) (struct{}, error) { return struct{}{}, io.ErrUnexpectedEOF })
			return nil, err
		})
		h.Leased.Plan = planOf(f, charge, mail)
		p := newProcess(f, h, "m")
		p.run(nil)
		p.ends("m", inbox.Done)
		p.end()
		if n := f.Count("SELECT count(*) FROM headrace_steps WHERE state IN ('failed', 'skipped')"); n != 2 || f.Effects("m") != 1 {
			f.Errorf("%d steps have failed or were skipped, %d effects", n, f.Effects("m"))
		}
	})
}

// A release has dropped a step, and its handler does none: the message is not done past the
// recorded one. It waits for a process that declares it, and then for a person.
//
//evidence:open-step
func TestDroppedStepIsNotPassed(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		h := stepped(f, 5, nil)
		h.Leased.Work = func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			if runs.Next(in.Delivery.Key) == 1 {
				_, err := charge.Do(ctx, func(_ context.Context, c *ledger.Call) (string, error) { return c.Key, nil })
				return nil, errors.Join(err, enginetest.ErrBoom)
			}
			h.Leased.Plan = planOf(f, payout) // the new build
			return nil, nil
		}
		p := newProcess(f, h, "m")
		p.run(nil)
		p.F.Eventually("it is put off", func() bool {
			p.Round(p.Engine.Worker(p.h))
			return f.Count("SELECT count(*) FROM headrace_backlog WHERE postponed_at IS NOT NULL") == 1
		})
		f.Exec("UPDATE headrace_backlog SET due_at = postponed_at, postponed_at = " + p.hours("postponed_at", 1))
		l := p.theLetter("m")
		p.end()
		if l.Class != dlq.Parked || l.Attempts != 2 || !strings.Contains(l.Error, "step charge (bank) needs a person: it is recorded, and its handler does not declare it") || f.Effects("m") != 0 {
			f.Errorf("%s after %d attempts: %s", l.Class, l.Attempts, l.Error)
		}
	})
}

// A step with an open call is gone: no run can find out what came of it, and a person must.
//
//evidence:open-step
func TestOpenStepThatIsGone(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		h := stepped(f, 5, nil)
		h.Leased.Work = func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			if runs.Next(in.Delivery.Key) == 1 {
				_, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "", io.ErrUnexpectedEOF })
				h.Leased.Plan = planOf(f, payout, ledger.Gone("charge")) // the new build
				return nil, err
			}
			return nil, nil
		}
		p := newProcess(f, h, "m")
		p.run(nil)
		l := p.theLetter("m")
		if l.Class != dlq.Parked || l.Attempts != 2 || !strings.Contains(l.Error, "step charge (bank) needs a person") || !strings.Contains(l.Error, "headrace steps resolve") {
			f.Errorf("%s after %d attempts: %s", l.Class, l.Attempts, l.Error)
		}
		if n := f.Count("SELECT count(*) FROM headrace_steps WHERE step = 'charge' AND state = 'parked'"); n != 1 {
			f.Error("no list of what needs a person has the step")
		}
		_, err := resolve.New(f.Store.Store).Resolve(f.Context(), resolve.Resolution{
			ID: l.ID(), Step: "charge", Decision: resolve.Done, By: "ana", Reason: "looked it up",
		})
		if err != nil {
			f.Fatal(err)
		}
		p.ends("m", inbox.Done)
		p.end()
	})
}

// A message with a call of unknown outcome that has been put off for as long as it may be goes
// to a person, and not to the attempts that are left.
//
//evidence:open-step
func TestPostponedForTooLongWithOpenStep(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs enginetest.Runs
		h := stepped(f, 5, func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			if runs.Next(in.Delivery.Key) == 1 {
				_, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) { return "", io.ErrUnexpectedEOF })
				return nil, retry.Postpone(time.Hour, err)
			}
			return nil, retry.Postpone(time.Hour, errors.New("429"))
		})
		p := newProcess(f, h, "m")
		p.run(nil)
		p.F.Eventually("it is put off", func() bool {
			p.Round(p.Engine.Worker(p.h))
			return f.Count("SELECT count(*) FROM headrace_backlog WHERE status = 'delayed'") == 1
		})
		f.Exec("UPDATE headrace_backlog SET due_at = postponed_at, postponed_at = " + p.hours("postponed_at", 25))
		l := p.theLetter("m")
		p.end()
		if l.Class != dlq.Parked || l.Attempts != 1 || l.Error != "step charge (bank) needs a person: the outcome of a call is unknown, and the message may be put off no longer: see headrace steps" {
			f.Errorf("%s after %d attempts: %s", l.Class, l.Attempts, l.Error)
		}
		if chain := strings.Join(l.Chain, " "); !strings.Contains(chain, "429") {
			f.Errorf("the cause is not in the chain %q", chain)
		}
	})
}

// A step that needs a person makes a letter of class parked, at the first attempt, and of
// one group for all messages.
//
//evidence:open-step
func TestParkedStepIsALetter(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		h := stepped(f, 5, func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			_, err := payout.Of(in.Delivery.Key).Do(ctx, func(context.Context, *ledger.Call) (string, error) {
				if in.Delivery.Key == "zwei" { // an error of another type
					return "", fmt.Errorf("no answer about zwei: %w", context.DeadlineExceeded)
				}
				return "", errors.New("no answer about " + in.Delivery.Key)
			})
			return nil, err
		})
		p := newProcess(f, h, "eins", "zwei")
		p.run(nil)
		p.state("eins", inbox.Dead)
		p.state("zwei", inbox.Dead)
		p.end()
		letters := f.Letters()
		if len(letters) != 2 || letters[0].ErrorFingerprint != letters[1].ErrorFingerprint {
			f.Fatalf("%d letters, of two groups", len(letters))
		}
		for _, l := range letters {
			if l.Class != dlq.Parked || l.Attempts != 1 || !strings.Contains(l.Error, "step payout (bank) needs a person") {
				f.Errorf("%s after %d attempts: %s", l.Class, l.Attempts, l.Error)
			}
			if !strings.Contains(strings.Join(l.Chain, " "), "no answer about") {
				f.Errorf("the cause is not in the chain %q", l.Chain)
			}
		}
	})
}

// A result that comes when its message is a dead letter already has the message go on, unless
// another of its steps needs a person.
//
//evidence:ledger
func TestLateResultRedrives(t *testing.T) {
	for _, blocked := range []bool{false, true} {
		t.Run(fmt.Sprint("blocked ", blocked), func(t *testing.T) {
			enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
				slow, release := payout, make(chan struct{})
				slow.Timeout = 20 * time.Millisecond
				h := stepped(f, 1, func(ctx context.Context, in task.Input) (headrace.Effects, error) {
					_, err := slow.Do(ctx, func(_ context.Context, c *ledger.Call) (string, error) {
						<-release
						c.SetID("po_1")
						return "po_1", nil
					})
					return nil, err
				})
				h.Leased.Plan = planOf(f, slow)
				p := newProcess(f, h, "m")
				p.run(func(o *lease.Options) { o.Arrived = resolve.New(f.Store.Store).Arrived })
				l := p.theLetter("m")
				if l.Class != dlq.Parked {
					f.Fatalf("class %s", l.Class)
				}
				if blocked {
					f.Exec("INSERT INTO headrace_steps (scope, key, step, system, state, call_id, input_hash, last_call_at, changed_at) SELECT scope, key, 'other', system, state, call_id, input_hash, last_call_at, changed_at FROM headrace_steps")
				}
				close(release)
				want := inbox.Done
				if blocked {
					want = inbox.Dead
				}
				f.Eventually("the result is recorded", func() bool {
					return f.Count("SELECT count(*) FROM headrace_steps WHERE step = 'payout' AND state = 'done'") == 1
				})
				p.ends("m", want)
				p.end()
				trail, err := f.Store.Letters().Trail(f.Context(), l.LetterID)
				if err != nil || blocked != (len(trail) == 0) {
					f.Errorf("%+v, %v", trail, err)
				}
				if n := f.Effects("m"); n != 1 && !blocked {
					f.Errorf("%d effects", n)
				}
			})
		})
	}
}

// A stop leaves a call alone until the work is cut off. The step ends first then, and its
// message is given back.
//
//evidence:stop
func TestStopWaitsForSteps(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		begun, cut := make(chan struct{}), new(atomic.Bool)
		h := stepped(f, 1, func(ctx context.Context, _ task.Input) (headrace.Effects, error) {
			_, err := charge.Do(ctx, func(ctx context.Context, _ *ledger.Call) (string, error) {
				close(begun)
				<-ctx.Done()
				if !cut.Load() {
					f.Error("a call was cut off before the time to drain was over")
				}
				return "", ctx.Err()
			})
			return nil, err
		})
		p := newProcess(f, h, "m")
		p.run(nil)
		<-begun
		p.Stop()
		time.AfterFunc(10*time.Millisecond, func() { cut.Store(true); p.Cut() })
		p.end()
		if s, a := f.State(h, "m"), f.Attempts(h, "m"); s != inbox.Waiting || len(a) != 0 {
			f.Errorf("%s, %d attempts", s, len(a))
		}
		if n := f.Count("SELECT count(*) FROM headrace_steps WHERE state = 'pending'"); n != 1 {
			f.Errorf("%d steps are open", n)
		}
	})
}
