package caution

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/headrace/headrace/instance"
)

// normal is when the guard was not cautious any more, after its start.
func (r *rig) normal() time.Duration {
	start := time.Now()
	for r.g.Level() == instance.Cautious && time.Since(start) < time.Hour {
		time.Sleep(10 * time.Millisecond)
	}
	return time.Since(start)
}

// DESIGN 3: cautious until every earlier instance is known to have ended cleanly or to
// beat. docs/design.md: after a death for the time in which beats are missed, and twice as
// long as the dead one had lived, up to a bound.
func TestHowLongCautionLasts(t *testing.T) {
	const look, beat, missed, most = time.Second, 3 * time.Second, 12 * time.Second, 10 * time.Minute
	for name, c := range map[string]struct {
		others func(r *rig)
		least  time.Duration // and at most two looks more
	}{
		"nobody before":         {others: func(*rig) {}},
		"ended":                 {others: func(r *rig) { i := r.other("x", time.Minute, time.Second); i.Ended = i.Beat }},
		"outlived":              {others: func(r *rig) { r.other("x", time.Minute, time.Minute).Outlived = true }},
		"beats":                 {others: func(r *rig) { r.other("x", time.Minute, 0); r.beating("x") }, least: beat},
		"ends meanwhile":        {others: func(r *rig) { r.other("x", time.Minute, 0); r.ending("x", 5*time.Second) }, least: 5 * time.Second},
		"died long ago, old":    {others: func(r *rig) { r.other("x", time.Hour, time.Hour) }, least: missed},
		"died just now, old":    {others: func(r *rig) { r.other("x", time.Hour, 0) }, least: missed},
		"died at once":          {others: func(r *rig) { r.other("x", 0, time.Minute) }, least: missed},
		"twice its lifetime":    {others: func(r *rig) { r.other("x", 40*time.Second, time.Minute) }, least: 2 * (40*time.Second + beat)},
		"the longest":           {others: func(r *rig) { r.other("x", most/2-beat, time.Minute) }, least: most},
		"lived for too long":    {others: func(r *rig) { r.other("x", most/2-beat+1, time.Minute) }, least: missed},
		"the longest of two":    {others: func(r *rig) { r.other("x", 20*time.Second, 0); r.other("y", 30*time.Second, 0) }, least: 66 * time.Second},
		"one died, one beats":   {others: func(r *rig) { r.other("x", time.Hour, 0); r.other("y", time.Hour, 0); r.beating("y") }, least: missed},
		"unknown for a time":    {others: func(r *rig) { r.other("x", time.Hour, -20*time.Second) }, least: 32 * time.Second},
		"starts and dies later": {others: func(r *rig) { time.AfterFunc(time.Millisecond, func() { r.add("x") }) }},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				c.others(r)
				r.start()
				took := r.normal()
				if took < c.least || took > c.least+2*look {
					r.Errorf("cautious for %s, want %s", took, c.least)
				}
				time.Sleep(2 * look)
				r.level(instance.Normal)
				if n := r.logs.count("caution at the start"); (n > 0) != (c.least > 0) || n > 2 {
					r.Errorf("the log says\n%s", r.logs.text.String())
				}
				if r.logs.count("caution changed") != 1 {
					r.Errorf("the log says\n%s", r.logs.text.String())
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				for id, row := range r.rows {
					if dead := row.Ended.IsZero() && time.Since(row.Beat) > missed; dead && c.least >= missed && !row.Outlived {
						r.Errorf("%s is not outlived: the next start is cautious again", id)
					}
				}
			})
		})
	}
}

// What starts with caution says so with its first look: why, and for how long. It says so
// again where a process that was not known to be dead had lived for long.
func TestCautionIsLoggedAtTheStart(t *testing.T) {
	for name, c := range map[string]struct {
		age  time.Duration
		at   string // what the first look says
		then string
	}{
		"dead":    {age: time.Minute, at: `ended without a word: 1; not known to beat yet: 0" lasts=1m26s`},
		"unknown": {age: 0, at: `ended without a word: 0; not known to beat yet: 1" lasts=13s`, then: `ended without a word: 1; not known to beat yet: 0" lasts=1m13s`},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.other("x", 40*time.Second, c.age)
				r.start()
				synctest.Wait()
				if text := r.logs.said(); !strings.Contains(text, "level=cautious") || !strings.Contains(text, c.at) {
					r.Errorf("with the first look the log says\n%s", text)
				}
				r.normal()
				want := 1
				if c.then != "" {
					want = 2
				}
				if text := r.logs.said(); !strings.Contains(text, c.then) || r.logs.count("caution at the start") != want {
					r.Errorf("the log says\n%s", text)
				}
			})
		})
	}
}

func (r *rig) add(id string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.other(id, 0, 0)
}

// beating has an instance beat for a minute.
func (r *rig) beating(id string) {
	var tick func()
	n := 0
	tick = func() {
		_ = r.Beat(context.Background(), id)
		if n++; n < 20 {
			time.AfterFunc(r.o.Beat, tick)
		}
	}
	time.AfterFunc(r.o.Beat, tick)
}

func (r *rig) ending(id string, in time.Duration) {
	time.AfterFunc(in, func() { _ = r.End(context.Background(), id) })
}

// watchful has the guard be watchful: an instance that was outlived long ago had written
// the message "suspect" down.
func watchful(t *testing.T, f func(r *rig)) {
	t.Helper()
	bubble(t, func(r *rig) {
		dead := r.other("dead", time.Hour, time.Hour)
		dead.Running, dead.Outlived = m("suspect"), true
		r.start()
		r.level(instance.Watchful)
		f(r)
	})
}

// In watchful mode a message that was written down at a death runs alone and is written
// down, all others together; it ends when nothing is known of such a message.
func TestWatchful(t *testing.T) {
	watchful(t, func(r *rig) {
		company := r.advice(instance.Go, "a", "b")
		r.advice(instance.Singly, "a", "suspect")
		suspect := r.enter(r.Context(), "suspect")
		r.waits(suspect)
		company.leave()
		alone := r.now(suspect)
		if r.running() != "suspect" {
			r.Errorf("%q is written down", r.running())
		}
		beside := r.enter(r.Context(), "c")
		r.waits(beside)
		alone.leave()
		r.now(beside).leave()
		if n := r.calls("run"); n != 2 { // written down and crossed out
			r.Errorf("%d times something was written down", n)
		}
		r.mu.Lock()
		r.rows["dead"].Settled = true
		r.mu.Unlock()
		time.Sleep(2 * r.o.Look)
		r.level(instance.Normal)
		r.advice(instance.Go, "a", "suspect").leave()
	})
}

// Caution turns into watchfulness where the dead one had written something down.
func TestCautiousThenWatchful(t *testing.T) {
	bubble(t, func(r *rig) {
		r.other("dead", time.Hour, 0).Running = m("suspect")
		r.start()
		if took := r.normal(); took < r.o.Missed {
			r.Errorf("after %s", took)
		}
		r.level(instance.Watchful)
	})
}

// In normal mode nothing is written down, and nobody looks at the others any more.
func TestNormal(t *testing.T) {
	bubble(t, func(r *rig) {
		r.start()
		r.level(instance.Normal)
		looks := r.calls("list")
		one, many := r.advice(instance.Go, "a"), r.advice(instance.Go, "b", "c")
		time.Sleep(time.Minute + time.Second)
		one.leave()
		many.leave()
		if n := r.calls("forget"); n != 1 {
			r.Errorf("old instances were removed %d times in a minute", n)
		}
		if r.calls("run") != 0 || r.calls("list") != looks || r.calls("beat") != 20 {
			r.Errorf("%d written down, %d looks, %d beats", r.calls("run"), r.calls("list")-looks, r.calls("beat"))
		}
		if err := r.g.End(r.Context()); err != nil || r.rows["me"].Ended.IsZero() {
			r.Errorf("the end is not written down: %v", err)
		}
	})
}

// SQLite's one lock, an outage: whatever fails, from the start or later, and for however
// long, the instance goes on, says so once, and beats again.
func TestFailuresEndNothing(t *testing.T) {
	for name, c := range map[string]struct {
		call  string // what fails; "" is everything
		hangs bool
		early bool // before the start
	}{
		"nothing works":            {},
		"nothing answers":          {hangs: true},
		"beats hang":               {call: "beat", hangs: true},
		"nothing works at first":   {early: true},
		"nothing answers at first": {early: true, hangs: true},
	} {
		t.Run(name, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.other("dead", time.Hour, time.Hour)
				fail := func(ctx context.Context, call string) error {
					if !strings.HasPrefix(call, c.call) {
						return nil
					}
					if c.hangs {
						<-ctx.Done()
					}
					return errDown
				}
				if c.early {
					r.failing(fail)
				}
				r.start()
				r.failing(fail)
				time.Sleep(time.Hour)
				r.failing(nil)
				time.Sleep(time.Minute)
				r.level(instance.Normal)
				// At most one for each thing that fails.
				if warns, again := r.logs.count(`msg="cannot `), r.logs.count("again"); warns < 1 || warns > 3 || again != warns {
					r.Errorf("%d warnings, and said %d times that it can again:\n%s", warns, again, r.logs.text.String())
				}
				r.mu.Lock()
				defer r.mu.Unlock()
				if age := time.Since(r.rows["me"].Beat); age > r.o.Beat {
					r.Errorf("the last beat was %s ago", age)
				}
			})
		})
	}
}

// A database that fails while there is caution says nothing about the others: it lasts.
func TestBlindIsCautious(t *testing.T) {
	for _, call := range []string{"list", "outlive"} {
		t.Run(call, func(t *testing.T) {
			bubble(t, func(r *rig) {
				r.other("dead", time.Hour, time.Hour)
				r.failing(failOn(call, errDown))
				r.start()
				time.Sleep(time.Hour)
				r.level(instance.Cautious)
				r.failing(nil)
				time.Sleep(2 * r.o.Look)
				r.level(instance.Normal)
			})
		})
	}
}
