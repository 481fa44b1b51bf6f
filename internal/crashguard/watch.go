package crashguard

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/encode"
	"github.com/headrace/headrace/internal/outage"
	"github.com/headrace/headrace/internal/sleep"
	"github.com/headrace/headrace/store"
)

const (
	// forgetAfter is how long instances are kept, forgetEvery how often old ones are
	// removed.
	forgetAfter = 24 * time.Hour
	forgetEvery = time.Hour
	// maxSuspects bounds how many suspects are read.
	maxSuspects = 10_000
)

// Run checks the schema, writes the instance's row, beats, and watches the other instances, until ctx ends.
// It keeps trying while the database does not answer.
func (g *Guard) Run(ctx context.Context) {
	w := &watch{g: g, beats: make(map[string]time.Time)}
	start := func(ctx context.Context) error { return g.instances.Start(ctx, g.self) }
	g.begun.Store(true)
	for !g.do(ctx, "check the schema", g.schema) || !g.do(ctx, "start", start) || !g.do(ctx, "look at the other instances", w.look) {
		if !sleep.For(ctx, g.Look) {
			return
		}
	}
	close(g.started)
	forget, beat := time.Time{}, time.Now()
	for {
		pause := g.Beat
		if g.Advises() {
			pause = g.Look
		}
		if !sleep.For(ctx, pause) {
			return
		}
		if time.Since(beat) >= g.Beat {
			beat = time.Now()
			g.do(ctx, "check the schema", g.schema)
			if g.do(ctx, "beat", g.beat) && time.Since(forget) >= forgetEvery {
				forget = time.Now()
				g.do(ctx, "forget old instances", func(ctx context.Context) error { return g.instances.Forget(ctx, forgetAfter) })
			}
		}
		g.do(ctx, "look at the other instances", w.look)
	}
}

// End records that the instance ended normally, after Run and all its work. Without it the
// other instances mark for a while.
func (g *Guard) End(ctx context.Context) error {
	if !g.begun.Load() {
		return nil
	}
	return g.instances.End(ctx, g.self.ID) // also if Start had no answer
}

// do calls f with a deadline, and reports whether it returned no error.
func (g *Guard) do(ctx context.Context, what string, f func(context.Context) error) bool {
	bounded, cancel := context.WithTimeout(ctx, statement)
	defer cancel()
	err := f(bounded)
	g.part(what).Tell(ctx, g.Logger, err)
	return err == nil
}

// part returns what logs that operation.
func (g *Guard) part(what string) *outage.Part {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.parts[what] == nil {
		g.parts[what] = &outage.Part{Fails: "cannot " + what + "; trying again", Works: "can " + what + " again"}
	}
	return g.parts[what]
}

// schema reads the id of the database's headrace, and whether this build can still run.
func (g *Guard) schema(ctx context.Context) error {
	id, err := g.Schema(ctx)
	switch {
	case err == nil:
		g.id.Store(id)
	case errors.Is(err, store.ErrSchema):
		g.Fatal(err)
	}
	return err
}

func (g *Guard) beat(ctx context.Context) error {
	err := g.instances.Beat(ctx, g.self.ID, g.Work())
	if errors.Is(err, instance.ErrUnknown) { // removed while it did not beat
		err = g.instances.Start(ctx, g.self)
	}
	if err != nil {
		return err
	}
	for _, n := range g.idle() { // no message runs there now
		g.unmark(ctx, n)
	}
	return nil
}

// idle takes the free slots whose marks contain messages.
func (g *Guard) idle() (idle []int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for n := range g.slots {
		if s := &g.slots[n]; !s.taken && s.written {
			s.taken, idle = true, append(idle, n)
		}
	}
	return idle
}

// watch decides when to mark, and which messages are suspects.
type watch struct {
	g *Guard
	// started is when our own instance started, by the database's clock.
	started time.Time
	beats   map[string]time.Time // the first known beats of instances
	told    bool                 // the log says that messages are marked
	// died is the instance whose death makes others mark for the longest, and lasts is for how long.
	died  instance.Instance
	lasts time.Duration
}

// look reads the instances, counts deaths, and reads the suspects.
func (w *watch) look(ctx context.Context) error {
	g := w.g
	list, err := g.instances.List(ctx, g.self.Consumer)
	if err != nil {
		return err
	}
	for _, i := range list {
		if i.ID == g.self.ID {
			w.started = i.Started
		}
	}
	dead, died, doubtful := false, false, make(map[string]bool)
	w.lasts = 0
	for _, i := range list {
		switch {
		case i.ID == g.self.ID || !i.Ended.IsZero():
		case i.Dead(g.Missed):
			if i.Counted.IsZero() {
				if _, err := g.marks.CountDeath(ctx, i.ID, g.Missed); err != nil {
					return err
				}
			}
			dead = true
			if lasts := g.lasts(i) - i.DeadFor; lasts > w.lasts {
				died, w.died, w.lasts = true, i, lasts
			}
		case w.doubt(i):
			doubtful[i.ID] = true
		}
	}
	k := &knowledge{}
	if dead || len(doubtful) > 0 || len(g.known.Load().suspects) > 0 {
		if k.suspects, err = g.suspects(ctx); err != nil {
			return err
		}
	}
	if len(doubtful) > 0 {
		if k.elsewhere, err = g.elsewhere(ctx, doubtful); err != nil {
			return err
		}
	}
	g.known.Store(k)
	w.set(died, died || len(doubtful) > 0)
	return nil
}

// doubt reports whether an instance may be dead: it existed when we started, and has not
// beaten since. SQLite's clock counts milliseconds: an equal time may be an earlier start.
func (w *watch) doubt(i instance.Instance) bool {
	if _, seen := w.beats[i.ID]; !seen {
		w.beats[i.ID] = i.Beat
	}
	return i.Beat.Equal(w.beats[i.ID]) && !i.Started.After(w.started)
}

// set marks or not, and logs that messages are marked because a process died. At each start
// they are marked until the others were seen to beat; that is not logged.
func (w *watch) set(died, marking bool) {
	w.g.marking.Store(marking)
	switch log := w.g.Logger; {
	case died && !w.told:
		log.Warn("another process of the consumer ended unexpectedly: for a while messages are marked before they run, which is slower, to find one that ends processes",
			"host", w.died.Host, "instance", w.died.ID, "for", encode.Span(w.lasts.Round(time.Second)))
		w.told = true
	case !marking && w.told:
		log.Info("messages are not marked any more")
		w.told = false
	}
}

// lasts is how long other processes mark after the death of i.
func (g *Guard) lasts(i instance.Instance) time.Duration {
	lived := 2 * (i.Beat.Sub(i.Started) + g.Beat)
	if lived > g.Most { // it met its cause long after its start
		lived = 0
	}
	return max(lived, g.Missed)
}

func (g *Guard) suspects(ctx context.Context) (map[instance.Hash]instance.Suspect, error) {
	list, err := g.marks.Suspects(ctx, g.self.Consumer, maxSuspects)
	if err != nil {
		return nil, err
	}
	suspects := make(map[instance.Hash]instance.Suspect, len(list))
	for _, s := range list {
		suspects[s.Message] = s
	}
	return suspects, nil
}

// elsewhere returns the messages in the marks of instances that may be dead.
func (g *Guard) elsewhere(ctx context.Context, doubtful map[string]bool) (map[instance.Hash]bool, error) {
	marks, err := g.marks.Marks(ctx, g.self.Consumer, g.self.ID)
	if err != nil {
		return nil, err
	}
	elsewhere := make(map[instance.Hash]bool)
	for _, m := range marks {
		for _, message := range m.Messages {
			if doubtful[m.Instance] {
				elsewhere[message] = true
			}
		}
	}
	return elsewhere, nil
}
