package lease_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/dlq"
	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/internal/enginetest"
	"github.com/headrace/headrace/internal/plan"
	"github.com/headrace/headrace/internal/task"
	"github.com/headrace/headrace/ledger"
	"github.com/headrace/headrace/ledger/resolve"
)

var approval = ledger.Signal[string]{Name: "approval", Timeout: 72 * time.Hour}

// awaiting is a leased handler that waits for approval.
func awaiting(f *enginetest.Fixture, attempts int, work func(ctx context.Context, in task.Input) (headrace.Effects, error)) *task.Handler {
	f.Helper()
	declared, err := plan.New(charge, approval)
	if err != nil {
		f.Fatal(err)
	}
	h := worked(work)
	h.Leased.Plan, h.Policy = declared, enginetest.Attempts(attempts)
	return h
}

// signal is the row of a signal.
func (p *process) signal(key string) ledger.Row {
	p.F.Helper()
	rows, err := p.F.Store.Operations().Steps.List(p.F.Context(), inbox.ID{Scope: p.h.Scope, Key: key})
	if err != nil {
		p.F.Fatal(err)
	}
	for _, r := range rows {
		if r.Step == "approval" {
			return r
		}
	}
	return ledger.Row{}
}

// waits waits until the message waits for its signal, and is put off.
func (p *process) waits(key string) {
	p.F.Helper()
	p.F.Eventually(key+" waits", func() bool {
		p.Round(p.Engine.Worker(p.h))
		n := p.F.Count("SELECT count(*) FROM headrace_backlog WHERE key = '" + key + "' AND status = 'delayed'")
		return n == 1 && p.signal(key).State == ledger.Awaiting
	})
}

func (p *process) send(key, value string) error {
	return approval.Send(p.F.Context(), resolve.New(p.F.Store.Store), inbox.ID{Scope: p.h.Scope, Key: key}, value)
}

// hours is a time of the database, so many hours before the one in a column.
func (p *process) hours(column string, n int) string {
	if p.F.SQLite {
		return fmt.Sprintf("%s - %d * 3600000000", column, n)
	}
	return fmt.Sprintf("%s - interval '%d hours'", column, n)
}

// A message waits for its signal without an attempt, longer than others may be put off,
// and a Send makes it due in the same commit. The steps before it are not done again.
//
//evidence:signal
func TestSignal(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var runs, calls atomic.Int64
		h := awaiting(f, 1, func(ctx context.Context, _ task.Input) (headrace.Effects, error) {
			runs.Add(1)
			if _, err := charge.Do(ctx, func(context.Context, *ledger.Call) (string, error) { calls.Add(1); return "ch", nil }); err != nil {
				return nil, err
			}
			if got, err := approval.Await(ctx); err != nil || got != "yes" {
				return nil, err
			}
			return nil, nil
		})
		p := newProcess(f, h, "m")
		p.run(nil)
		p.waits("m")
		if r := p.signal("m"); r.Age > -71*time.Hour || r.Age < -72*time.Hour {
			f.Errorf("its time is over in %s", -r.Age)
		}
		// After a day, one that was put off for other reasons would fail.
		f.Exec("UPDATE headrace_backlog SET due_at = postponed_at, postponed_at = " + p.hours("postponed_at", 30))
		f.Eventually("it runs again", func() bool { p.Round(p.Engine.Worker(h)); return runs.Load() == 2 })
		p.waits("m")
		if err := p.send("m", "yes"); err != nil {
			f.Fatal(err)
		}
		p.ends("m", inbox.Done)
		p.end()
		if n := len(f.Attempts(h, "m")); n != 0 || calls.Load() != 1 || f.Effects("m") != 1 {
			f.Errorf("%d attempts, %d calls, %d effects", n, calls.Load(), f.Effects("m"))
		}
		if r := p.signal("m"); r.Via != ledger.ViaSignal || r.State != ledger.Done {
			f.Errorf("%+v", r)
		}
	})
}

// A message that comes after its signal does not wait for it, where the sender has said that the
// signal may be early.
//
//evidence:signal
func TestSignalBeforeItsMessage(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		h := awaiting(f, 1, func(ctx context.Context, _ task.Input) (headrace.Effects, error) {
			got, err := approval.Await(ctx)
			if err == nil && got != "yes" {
				t.Errorf("it got %q", got)
			}
			return nil, err
		})
		admin, id := resolve.New(f.Store.Store), inbox.ID{Scope: h.Scope, Key: "m"}
		if err := approval.Send(f.Context(), admin, id, "yes"); !errors.Is(err, ledger.ErrUnknown) {
			f.Errorf("without leave: %v", err)
		}
		for range 2 {
			if err := approval.SendEarly(f.Context(), admin, id, "yes"); err != nil {
				f.Errorf("early: %v", err)
			}
		}
		if err := approval.SendEarly(f.Context(), admin, id, "no"); !errors.Is(err, ledger.ErrInput) {
			f.Errorf("another value: %v", err)
		}
		p := newProcess(f, h, "m")
		p.run(nil)
		p.ends("m", inbox.Done)
		p.end()
	})
}

// A signal that is sent while the run that misses it ends is not lost: the message runs
// again at once, wherever the Send begins.
//
//evidence:signal
func TestSignalWhileItsRunEnds(t *testing.T) {
	for _, when := range []string{"after the mark", "before the fence", "after the fence"} {
		t.Run(when, func(t *testing.T) {
			enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
				if f.SQLite && when == "before the fence" {
					return // the transaction has the whole file before
				}
				var p *process
				var sent atomic.Bool
				var sending sync.WaitGroup
				send := func() {
					if err := p.send("m", "yes"); err != nil {
						f.Error(err)
					}
				}
				later := func() { sending.Go(send) } // it waits for the lock
				h := awaiting(f, 1, func(ctx context.Context, _ task.Input) (headrace.Effects, error) {
					_, err := approval.Await(ctx)
					if err == nil || !sent.CompareAndSwap(false, true) {
						return nil, err
					}
					switch when {
					case "after the mark":
						send()
					case "before the fence":
						p.store.beforeFence.Store(&send)
					default:
						p.store.afterFence.Store(&later)
					}
					return nil, err
				})
				p = newProcess(f, h, "m")
				p.run(nil)
				p.ends("m", inbox.Done)
				p.end()
				sending.Wait()
				if n := len(f.Attempts(h, "m")); n != 0 || f.Effects("m") != 1 {
					f.Errorf("%d attempts, %d effects", n, f.Effects("m"))
				}
			})
		})
	}
}

// A message is not done while it waits, whatever its handler returns.
//
//evidence:signal
func TestAwaitedSignalIsNotDone(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		h := awaiting(f, 1, func(ctx context.Context, _ task.Input) (headrace.Effects, error) {
			_, _ = approval.Await(ctx)
			return nil, nil
		})
		p := newProcess(f, h, "m")
		p.run(nil)
		l := p.theLetter("m")
		p.end()
		if l.Class != dlq.Parked || f.Effects("m") != 0 || p.signal("m").State != ledger.Awaiting {
			f.Errorf("%s: %s", l.Class, l.Error)
		}
		// The signal of a dead message is kept for its redrive.
		if err := p.send("m", "yes"); err != nil {
			f.Error(err)
		}
	})
}

// When the time is over, Await says so in each run, and later signals are refused. The
// handler may go on.
//
//evidence:signal
func TestSignalTimeout(t *testing.T) {
	enginetest.OnEachStore(t, func(f *enginetest.Fixture) {
		var again enginetest.Runs
		h := awaiting(f, 2, func(ctx context.Context, in task.Input) (headrace.Effects, error) {
			_, err := approval.Await(ctx)
			if errors.Is(err, ledger.ErrNoSignal) {
				if again.Next(in.Delivery.Key) == 1 {
					return nil, enginetest.ErrBoom
				}
				return nil, nil
			}
			return nil, err
		})
		p := newProcess(f, h, "m")
		p.run(nil)
		p.waits("m")
		f.Exec("UPDATE headrace_steps SET first_call_at = " + p.hours("first_call_at", 73))
		if err := p.send("m", "yes"); !errors.Is(err, ledger.ErrNoSignal) {
			f.Errorf("%v", err)
		}
		f.Exec("UPDATE headrace_backlog SET due_at = postponed_at")
		p.ends("m", inbox.Done)
		p.end()
		if r := p.signal("m"); r.State != ledger.Expired || f.Effects("m") != 1 {
			f.Errorf("%s, %d effects", r.State, f.Effects("m"))
		}
		if err := p.send("m", "yes"); !errors.Is(err, ledger.ErrNoSignal) {
			f.Errorf("%v", err)
		}
	})
}
