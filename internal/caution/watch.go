package caution

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
)

// Run writes the instance's row, beats, and watches the other instances, until ctx ends.
// It does not give up while the database does not answer.
func (g *Guard) Run(ctx context.Context) {
	for !g.do(ctx, "start", func(ctx context.Context) error { return g.st.Start(ctx, g.self) }) {
		if !sleep(ctx, g.o.Look) {
			return
		}
	}
	close(g.started)
	w := &watch{g: g, since: time.Now()}
	forget, beat := time.Time{}, time.Now()
	for {
		pause := g.o.Beat
		if g.Level() != instance.Normal {
			g.do(ctx, "look at the other instances", w.look)
		}
		if g.Level() != instance.Normal {
			pause = g.o.Look
		}
		if !sleep(ctx, pause) {
			return
		}
		if time.Since(beat) < g.o.Beat {
			continue
		}
		beat = time.Now()
		if g.do(ctx, "beat", g.beat) && time.Since(forget) >= forgetEvery {
			forget = time.Now()
			g.do(ctx, "forget old instances", func(ctx context.Context) error { return g.st.Forget(ctx, forgetAfter) })
		}
	}
}

// End says that the instance ended in order, after everything that it ran. Without it
// the next one starts with caution.
func (g *Guard) End(ctx context.Context) error {
	select {
	case <-g.started:
		return g.st.End(ctx, g.self.ID)
	default:
		return nil // there is no row
	}
}

// do calls f with a deadline, and reports whether it returned no error.
func (g *Guard) do(ctx context.Context, what string, f func(context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := f(bounded)
	if err == nil || ctx.Err() == nil {
		g.tell(what, err)
	}
	return err == nil
}

// trouble is what fails at present.
type trouble struct {
	mu    sync.Mutex
	fails map[string]bool
}

// tell logs the first failure of what, and its first success after that: a database that
// does not answer, or whose one lock a handler holds, fails every try.
func (g *Guard) tell(what string, err error) {
	t := &g.trouble
	t.mu.Lock()
	was := t.fails[what]
	if t.fails == nil {
		t.fails = make(map[string]bool)
	}
	t.fails[what] = err != nil
	t.mu.Unlock()
	switch {
	case err != nil && !was:
		g.o.Logger.Warn("cannot "+what+"; tried until it can", "consumer", g.self.Consumer, "error", encode.Said(err))
	case err == nil && was:
		g.o.Logger.Info("can "+what+" again", "consumer", g.self.Consumer)
	}
}

func (g *Guard) beat(ctx context.Context) error {
	err := g.st.Beat(ctx, g.self.ID)
	if errors.Is(err, instance.ErrUnknown) { // forgotten while it did not beat
		return g.st.Start(ctx, g.self)
	}
	if g.turns.tryAlone() { // nothing runs that could be written down
		g.crossOut(ctx)
		g.turns.leave()
	}
	return err
}

// sleep waits for d, and reports false when ctx ends first.
func sleep(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// watch finds out when caution may end.
type watch struct {
	g     *Guard
	since time.Time
	// first is the beat of each earlier instance in question, as it was seen first; nil
	// before the first look.
	first map[string]time.Time
	// told is how long caution lasts at most, as it was logged; 0 before that.
	told time.Duration
}

// look reads the instances and lowers the level where it may.
func (w *watch) look(ctx context.Context) error {
	g := w.g
	list, err := g.st.List(ctx, g.self.Consumer)
	if err != nil {
		return err
	}
	w.meet(list)
	suspects := make(map[inbox.ID]bool)
	wait, dead, unknown := time.Duration(0), 0, 0
	for _, i := range list {
		if i.ID == g.self.ID || !i.Ended.IsZero() {
			continue
		}
		if i.Dead(g.o.Missed) && i.Running.Key != "" && !i.Settled {
			suspects[i.Running] = true
		}
		first, inQuestion := w.first[i.ID]
		switch {
		case !inQuestion || !i.Beat.Equal(first): // later than us, or seen to beat
		case i.Dead(g.o.Missed):
			wait = max(wait, g.caution(i))
			dead++
		default:
			unknown++
		}
	}
	g.suspects.Store(&suspects)
	if g.Level() == instance.Cautious {
		if unknown > 0 || time.Since(w.since) < wait {
			w.tell(wait, dead, unknown)
			return nil
		}
		if wait > 0 {
			if err := g.st.Outlive(ctx, g.self.ID, g.o.Missed); err != nil {
				return fmt.Errorf("go on as usual: %w", err)
			}
		}
	}
	g.lower(len(suspects) > 0)
	return nil
}

// tell logs at the first look why there is caution and for how long, and again where it
// becomes longer: what was unknown is dead, and had lived for long.
func (w *watch) tell(wait time.Duration, dead, unknown int) {
	g := w.g
	if unknown > 0 { // each of them beats or is dead by then
		wait = max(wait, g.o.Missed+g.o.Look)
	}
	if wait <= w.told {
		return
	}
	w.told = wait
	reason := fmt.Sprintf("earlier processes ended without a word: %d; not known to beat yet: %d", dead, unknown)
	level := slog.LevelInfo // a rolling deploy
	if dead > 0 {
		level = slog.LevelWarn
	}
	g.o.Logger.Log(context.Background(), level, "caution at the start", "consumer", g.self.Consumer, "level", instance.Cautious.String(),
		"reason", reason, "lasts", (wait - time.Since(w.since)).Round(time.Second).String())
}

// meet notes who is in question: who had not ended when we started.
func (w *watch) meet(list []instance.Instance) {
	if w.first != nil {
		return
	}
	w.first = make(map[string]time.Time)
	for _, i := range list {
		if i.ID != w.g.self.ID && i.Ended.IsZero() && !i.Outlived {
			w.first[i.ID] = i.Beat
		}
	}
}

// caution is how long the death of i asks for it, from our start.
func (g *Guard) caution(i instance.Instance) time.Duration {
	lived := 2 * (i.Beat.Sub(i.Started) + g.o.Beat)
	if lived > g.o.Most { // whatever ended it had come to it long after its start
		lived = 0
	}
	return max(lived, g.o.Missed)
}

// lower has the level fall, at once where nobody runs alone, and else when that one is
// done: it is to have no company.
func (g *Guard) lower(suspects bool) {
	level := instance.Normal
	if suspects {
		level = instance.Watchful
	}
	g.next.Store(int32(level))
	g.turns.unlessAlone(g.fall)
}

// fall is called where nobody runs alone.
func (g *Guard) fall() {
	next := g.next.Load()
	if was := g.level.Swap(next); was != next {
		g.o.Logger.Info("caution changed", "consumer", g.self.Consumer, "level", instance.Caution(next).String())
	}
}
