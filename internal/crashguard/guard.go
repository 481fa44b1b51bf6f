package crashguard

import (
	"context"
	"log/slog"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
	"github.com/headrace/headrace/internal/batch"
	"github.com/headrace/headrace/internal/outage"
)

// Pace is how often an instance beats and looks at the others. All fields are required.
type Pace struct {
	// Look is the time between two looks at the other instances while the guard marks,
	// and between two tries while the database does not answer.
	Look time.Duration
	// Beat is the time between two beats.
	Beat time.Duration
	// Missed is how long without a beat makes an instance dead.
	Missed time.Duration
	// Most bounds how long other processes mark after a death.
	Most time.Duration
	// Beside is after how long other work may run concurrently with a suspect.
	Beside time.Duration
}

// UsualPace is the pace outside of tests.
var UsualPace = Pace{Look: time.Second, Beat: 3 * time.Second, Missed: instance.Missed, Most: 10 * time.Minute, Beside: 10 * time.Second}

// Options configure a Guard. All are required.
type Options struct {
	Pace
	// LeftBehind reports whether an abandoned handler still runs: then no message is the
	// only work.
	LeftBehind func() bool
	// Work returns what the process did lately. Beats call it, one after the other.
	Work func() instance.Work
	// Schema returns the id of the database's headrace, or an error that matches
	// store.ErrSchema if this build cannot run on the schema any more; Fatal then gets it.
	Schema func(context.Context) (string, error)
	Fatal  func(error)
	// Process is shared by the guards of a process.
	Process *Process
	// Logger logs what operators should know.
	Logger *slog.Logger
}

const (
	// maxAlone is how many processes may die with a message as their only work, maxBeside
	// with concurrent work.
	maxAlone  = 3
	maxBeside = 10
	// statement bounds one of our statements.
	statement = 5 * time.Second
)

// Guard is an instance of a consumer. Run is called once. All other methods may be called
// concurrently, also while Run runs.
type Guard struct {
	Options
	instances instance.Store
	marks     instance.Marks
	self      instance.Instance

	marking atomic.Bool
	known   atomic.Pointer[knowledge]
	id      atomic.Value  // of the database's headrace
	begun   atomic.Bool   // our row may be there
	started chan struct{} // closed when the id is read, our row is written and others are known

	mu    sync.Mutex
	slots []slot
	parts map[string]*outage.Part // by operation
}

// slot is the mark of a worker.
type slot struct {
	taken bool
	// written says that the row may contain messages.
	written bool
}

// knowledge is the known state of messages.
type knowledge struct {
	suspects  map[instance.Hash]instance.Suspect
	elsewhere map[instance.Hash]bool // in the marks of instances that may be dead
}

// New returns a guard for the instance self, whose row is not written yet.
func New(instances instance.Store, marks instance.Marks, self instance.Instance, o Options) *Guard {
	g := &Guard{
		Options: o, instances: instances, marks: marks, self: self,
		started: make(chan struct{}), parts: make(map[string]*outage.Part),
	}
	g.marking.Store(true) // until the others are known
	g.known.Store(&knowledge{})
	return g
}

// Marking reports whether batches are being marked.
func (g *Guard) Marking() bool { return g.marking.Load() }

// Database returns the id of the database's headrace; "" before Started.
func (g *Guard) Database() string {
	id, _ := g.id.Load().(string)
	return id
}

// Started waits until messages may run, and reports whether they may: not if ctx ends
// first.
func (g *Guard) Started(ctx context.Context) bool {
	select {
	case <-g.started:
		return true
	default:
	}
	select {
	case <-g.started:
		return true
	case <-ctx.Done():
		return false
	}
}

// Advises implements batch.Guard.
func (g *Guard) Advises() bool {
	k := g.known.Load()
	return g.Marking() || len(k.suspects) > 0 || len(k.elsewhere) > 0
}

// Advise implements batch.Guard.
func (g *Guard) Advise(ctx context.Context, messages []inbox.ID) []batch.Advice {
	g.Started(ctx) // if not, Enter returns the error
	k := g.known.Load()
	if len(k.suspects)+len(k.elsewhere) == 0 {
		return nil
	}
	var advice []batch.Advice
	for i, m := range messages {
		one := k.advise(instance.HashOf(m))
		if one == batch.Together {
			continue
		}
		if advice == nil {
			advice = make([]batch.Advice, len(messages))
		}
		advice[i] = one
	}
	return advice
}

func (k *knowledge) advise(m instance.Hash) batch.Advice {
	s, suspect := k.suspects[m]
	switch {
	case s.Alone >= maxAlone, s.Beside >= maxBeside:
		return batch.Never
	case k.elsewhere[m]:
		return batch.Later
	case suspect:
		return batch.Alone
	}
	return batch.Together
}

// Enter implements batch.Guard.
func (g *Guard) Enter(ctx context.Context, messages []inbox.ID, alone bool) (leave func(ran bool), err error) {
	if !g.Started(ctx) {
		return nil, context.Cause(ctx)
	}
	if alone {
		return g.enterAlone(ctx, messages)
	}
	if err := g.Process.join(ctx); err != nil {
		return nil, err
	}
	free := func() {}
	if g.Marking() && len(messages) > 0 {
		n := g.slot()
		free = func() { g.free(n) }
		if err := g.mark(ctx, n, messages, false); err != nil {
			free()
			g.Process.leave()
			return nil, err
		}
	}
	return func(ran bool) {
		free()
		if ran {
			g.clear(ctx, messages)
		}
		g.Process.leave()
	}, nil
}

// enterAlone waits until no other work runs, and marks the messages as the only work. If
// they run for long, it changes the mark and lets other work run concurrently.
func (g *Guard) enterAlone(ctx context.Context, messages []inbox.ID) (leave func(ran bool), err error) {
	only, err := g.Process.isolate(ctx)
	if err != nil {
		return nil, err
	}
	n := g.slot()
	if err := g.mark(ctx, n, messages, only && !g.LeftBehind()); err != nil {
		g.free(n)
		g.Process.end(false)
		return nil, err
	}
	var mu sync.Mutex
	over, opened := false, false
	timer := time.AfterFunc(g.Beside, func() {
		mu.Lock()
		defer mu.Unlock()
		if over || g.mark(ctx, n, messages, false) != nil {
			return // it continues alone
		}
		g.Process.open()
		opened = true
	})
	return func(ran bool) {
		timer.Stop()
		mu.Lock()
		over = true
		mu.Unlock()
		g.unmark(ctx, n)
		if ran {
			g.clear(ctx, messages)
		}
		g.Process.end(opened)
	}, nil
}

// slot takes a free slot for a mark.
func (g *Guard) slot() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	n := slices.IndexFunc(g.slots, func(s slot) bool { return !s.taken })
	if n < 0 {
		n, g.slots = len(g.slots), append(g.slots, slot{})
	}
	g.slots[n] = slot{taken: true, written: true}
	return n
}

// free frees a slot; its mark stays until it is overwritten, or the next beat clears it.
func (g *Guard) free(n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots[n].taken = false
}

// mark writes the mark of a slot.
func (g *Guard) mark(ctx context.Context, n int, messages []inbox.ID, alone bool) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statement)
	defer cancel()
	hashes := make([]instance.Hash, len(messages))
	for i, m := range messages {
		hashes[i] = instance.HashOf(m)
	}
	return g.marks.Mark(ctx, instance.Mark{Instance: g.self.ID, Worker: n, Messages: hashes, Alone: alone})
}

// unmark clears the mark of a slot, and frees it. If that fails, the next mark overwrites
// it, or the next beat clears it.
func (g *Guard) unmark(ctx context.Context, n int) {
	err := g.mark(ctx, n, nil, false)
	g.part("clear the mark of a message that was handled").Tell(ctx, g.Logger, err)
	g.mu.Lock()
	defer g.mu.Unlock()
	g.slots[n] = slot{written: err != nil}
}

// clear removes messages from the suspects: their handlers returned, or they became dead
// letters.
func (g *Guard) clear(ctx context.Context, messages []inbox.ID) {
	k := g.known.Load()
	if len(k.suspects) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), statement)
	defer cancel()
	for _, m := range messages {
		hash := instance.HashOf(m)
		if _, suspect := k.suspects[hash]; suspect {
			g.part("clear a message that was suspected").Tell(ctx, g.Logger, g.marks.Clear(ctx, g.self.Consumer, hash))
		}
	}
}
