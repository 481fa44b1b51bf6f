package caution

import (
	"context"
	"errors"
	"log/slog"
	"sync/atomic"

	"github.com/headrace/headrace/inbox"
	"github.com/headrace/headrace/instance"
)

// Guard is an instance of a consumer. It is cautious until Run has found out that there
// is no need. Run is called once; everything else may be called concurrently, also while
// Run runs.
type Guard struct {
	st   instance.Store
	self instance.Instance
	o    Options

	level    atomic.Int32
	next     atomic.Int32 // what level falls to when nobody runs alone
	suspects atomic.Pointer[map[inbox.ID]bool]
	started  chan struct{} // closed once our row is there
	turns    *turns
	trouble  trouble

	// written says that our row may name a message; it belongs to who runs alone.
	written bool
}

// New returns a guard for the instance self, whose row is not written yet.
func New(st instance.Store, self instance.Instance, o Options) *Guard {
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	g := &Guard{st: st, self: self, o: o, started: make(chan struct{}), turns: newTurns()}
	g.level.Store(int32(instance.Cautious))
	g.next.Store(int32(instance.Cautious))
	g.suspects.Store(&map[inbox.ID]bool{})
	return g
}

// Level says how careful to be: one atomic load. It only ever falls.
func (g *Guard) Level() instance.Caution { return instance.Caution(g.level.Load()) }

// Enter asks whether the messages may run together, or the message alone, and waits for
// its turn until ctx ends. Where the advice is instance.Go, leave is to be called once
// their outcomes are committed; otherwise it is nil. An error is that of the database, or
// the cause of the end of ctx.
func (g *Guard) Enter(ctx context.Context, messages []inbox.ID) (advice instance.Advice, leave func(), err error) {
	select {
	case <-g.started:
	case <-ctx.Done():
		return 0, nil, context.Cause(ctx)
	}
	for g.careful(messages) {
		if len(messages) > 1 {
			return instance.Singly, nil, nil
		}
		ours, err := g.turns.goAlone(ctx, messages[0].Scope+"\x00"+messages[0].Key)
		switch {
		case err != nil:
			return 0, nil, err
		case !ours:
			return instance.Wait, nil, nil
		case !g.careful(messages): // the level fell while it waited: others may run beside it now
			g.turns.leave()
			continue
		}
		return g.alone(ctx, messages[0])
	}
	if err := g.turns.join(ctx); err != nil { // also in normal mode: a cautious one may still run
		return 0, nil, err
	}
	return instance.Go, g.turns.leave, nil
}

// careful reports whether each of the messages has to run alone.
func (g *Guard) careful(messages []inbox.ID) bool {
	level := g.Level()
	return len(messages) > 0 && (level == instance.Cautious || level == instance.Watchful && g.suspect(messages))
}

// suspect reports whether one of the messages was written down by an instance that died.
func (g *Guard) suspect(messages []inbox.ID) bool {
	suspects := *g.suspects.Load()
	for _, m := range messages {
		if suspects[m] {
			return true
		}
	}
	return false
}

// alone writes m down. It is m's turn.
func (g *Guard) alone(ctx context.Context, m inbox.ID) (instance.Advice, func(), error) {
	advice, err := g.judge(ctx, m)
	if err != nil || advice != instance.Go {
		g.turns.leave()
		return advice, nil, err
	}
	return instance.Go, func() {
		g.crossOut(ctx)
		g.fall()
		g.turns.leave()
	}, nil
}

func (g *Guard) judge(ctx context.Context, m inbox.ID) (instance.Advice, error) {
	if ctx.Err() != nil {
		return 0, context.Cause(ctx)
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	deaths, unsure, err := g.st.Deaths(ctx, g.self.ID, g.self.Consumer, m, g.o.Missed)
	switch {
	case err != nil:
		return 0, err
	case deaths >= maxDeaths:
		return instance.Crashed, nil
	case unsure > 0:
		return instance.Wait, nil
	case g.o.LeftBehind != nil && g.o.LeftBehind(): // it would not be the only work that runs
		g.crossOut(ctx)
		return instance.Go, nil
	}
	g.written = true
	err = g.st.Run(ctx, g.self.ID, m)
	if errors.Is(err, instance.ErrUnknown) { // forgotten while it did not beat
		if err = g.st.Start(ctx, g.self); err == nil {
			err = g.st.Run(ctx, g.self.ID, m)
		}
	}
	return instance.Go, err
}

// crossOut clears what is written down. Where that fails, the next message is written
// over it, or the next beat clears it.
func (g *Guard) crossOut(ctx context.Context) {
	if !g.written {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), patience)
	defer cancel()
	err := g.st.Run(ctx, g.self.ID, inbox.ID{})
	g.tell("cross out a message that was handled", err)
	g.written = err != nil
}
