package caution

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/headrace/headrace/instance"
)

var errDown = errors.New("no answer")

// cautious has the guard be cautious for 12 s: one died that had lived for long.
func cautious(t *testing.T, f func(r *rig)) {
	t.Helper()
	bubble(t, func(r *rig) {
		r.other("dead", time.Hour, time.Minute)
		r.start()
		r.level(instance.Cautious)
		f(r)
	})
}

// DESIGN 3, messages that kill the process: what is about to run is written down first,
// one at a time; accused after three deaths as the only work.
func TestAdviceInCautiousMode(t *testing.T) {
	for name, c := range map[string]struct {
		deaths, unsure int
		leftBehind     bool
		keys           []string
		want           instance.Advice
		written        string
	}{
		"one":               {keys: []string{"a"}, want: instance.Go, written: "a"},
		"several":           {keys: []string{"a", "b"}, want: instance.Singly},
		"two deaths":        {keys: []string{"a"}, deaths: 2, want: instance.Go, written: "a"},
		"three deaths":      {keys: []string{"a"}, deaths: 3, want: instance.Crashed},
		"perhaps it runs":   {keys: []string{"a"}, unsure: 1, want: instance.Wait},
		"and three deaths":  {keys: []string{"a"}, unsure: 1, deaths: 3, want: instance.Crashed},
		"one was left over": {keys: []string{"a"}, leftBehind: true, want: instance.Go},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.other("dead", time.Hour, time.Minute)
				r.o.LeftBehind = func() bool { return c.leftBehind }
				r.deaths, r.unsure = c.deaths, c.unsure
				r.start()
				e := r.advice(c.want, c.keys...)
				if r.running() != c.written {
					r.Errorf("written down: %q, want %q", r.running(), c.written)
				}
				if e.leave != nil {
					e.leave()
				}
				if r.running() != "" {
					r.Errorf("%q is not crossed out", r.running())
				}
				r.deaths, r.unsure = 0, 0
				r.advice(instance.Go, "next").leave() // nobody was left in its turn
			})
		})
	}
}

// While one runs alone no other does; the next is written down when it has left.
func TestOneAtATime(t *testing.T) {
	cautious(t, func(r *rig) {
		a := r.advice(instance.Go, "a")
		b := r.enter(r.Context(), "b")
		r.waits(b)
		if r.running() != "a" {
			r.Errorf("%q is written down", r.running())
		}
		a.leave()
		e := r.now(b)
		if e.advice != instance.Go || r.running() != "b" {
			r.Errorf("%+v, and %q is written down", e, r.running())
		}
		e.leave()
	})
}

// A stop waits for nobody's turn: neither for that of who runs alone, nor, once it is
// known that there is no need for caution, for that of a late one.
func TestWaitHeedsItsContext(t *testing.T) {
	cautious(t, func(r *rig) {
		a := r.advice(instance.Go, "a")
		errStop := errors.New("stop")
		ctx, stop := context.WithCancelCause(r.Context())
		b := r.enter(ctx, "b")
		r.waits(b)
		stop(errStop)
		if e := r.now(b); !errors.Is(e.err, errStop) {
			r.Errorf("%+v", e)
		}
		c := r.enter(ctx, "c")
		if e := r.now(c); e.err == nil {
			r.Errorf("%+v", e)
		}
		a.leave()
		if e := r.now(r.enter(ctx, "free")); !errors.Is(e.err, errStop) || r.calls("run free") != 0 {
			r.Errorf("%+v, although its turn was free", e)
		}
		r.advice(instance.Go, "d").leave()
	})
}

// Who waits to run alone keeps others from joining; where it gives up they go on.
func TestCompanyGoesOnWhenOneGivesUp(t *testing.T) {
	watchful(t, func(r *rig) {
		company := r.advice(instance.Go, "a", "b")
		ctx, stop := context.WithCancel(r.Context())
		suspect, late := r.enter(ctx, "suspect"), r.enter(r.Context(), "c")
		r.waits(suspect)
		r.waits(late)
		stop()
		if e := r.now(suspect); e.err == nil {
			r.Errorf("%+v", e)
		}
		r.now(late).leave()
		company.leave()
	})
}

// Enter waits for the instance's row: without one nothing can be written down.
func TestEnterWaitsForTheRow(t *testing.T) {
	bubble(t, func(r *rig) {
		r.failing(failOn("start", errDown))
		r.start()
		ctx, stop := context.WithCancel(r.Context())
		given, kept := r.enter(ctx, "a"), r.enter(r.Context(), "b")
		stop()
		if e := r.now(given); e.err == nil {
			r.Errorf("%+v", e)
		}
		r.waits(kept)
		if err := r.g.End(r.Context()); err != nil || r.calls("end") != 0 {
			r.Errorf("an instance without a row ends: %v", err)
		}
		r.failing(nil)
		time.Sleep(r.o.Look + patience)
		r.now(kept).leave()
	})
}

// The level falls when nobody runs alone, so that who does has no company; whoever
// waited to run alone is not written down any more when others may run beside it.
func TestLevelFallsBetweenTurns(t *testing.T) {
	cautious(t, func(r *rig) {
		a := r.advice(instance.Go, "a")
		b := r.enter(r.Context(), "b")
		time.Sleep(time.Minute) // caution would have ended
		r.level(instance.Cautious)
		a.leave()
		r.level(instance.Normal)
		e := r.now(b)
		if e.advice != instance.Go || r.calls("run b") != 0 {
			r.Errorf("%+v, written down %d times in normal mode", e, r.calls("run b"))
		}
		r.advice(instance.Go, "c", "d").leave() // beside it
		e.leave()
	})
}

// An instance that was forgotten while it stood still starts again, and writes down.
func TestForgottenInstanceStartsAgain(t *testing.T) {
	cautious(t, func(r *rig) {
		r.mu.Lock()
		delete(r.rows, "me")
		r.mu.Unlock()
		e := r.advice(instance.Go, "a")
		if r.running() != "a" {
			r.Errorf("%q is written down", r.running())
		}
		e.leave()
		r.mu.Lock()
		delete(r.rows, "me")
		r.mu.Unlock()
		time.Sleep(2 * r.o.Beat)
		r.mu.Lock()
		defer r.mu.Unlock()
		if r.rows["me"] == nil {
			r.Error("a beat without a row did not start it again")
		}
	})
}

// Where a message cannot be judged or written down it does not run, and its turn ends.
func TestWhatCannotBeWrittenDownDoesNotRun(t *testing.T) {
	for _, call := range []string{"deaths", "run a"} {
		cautious(t, func(r *rig) {
			r.failing(failOn(call, errDown))
			if e := r.now(r.enter(r.Context(), "a")); !errors.Is(e.err, errDown) || e.leave != nil {
				r.Errorf("%s: %+v", call, e)
			}
			r.failing(nil)
			r.advice(instance.Go, "b").leave()
		})
	}
}

// What could not be crossed out is by the next beat, if nothing runs that it could name.
func TestBeatCrossesOut(t *testing.T) {
	cautious(t, func(r *rig) {
		e := r.advice(instance.Go, "a")
		r.failing(failOn("run", errDown))
		e.leave()
		if r.running() != "a" {
			r.Error("crossed out")
		}
		r.failing(nil)
		time.Sleep(2 * r.o.Beat)
		if r.running() != "" {
			r.Errorf("%q is not crossed out", r.running())
		}
		e = r.advice(instance.Go, "b")
		time.Sleep(2 * r.o.Beat)
		if r.running() != "b" {
			r.Error("a beat crossed out what runs")
		}
		e.leave()
	})
}
