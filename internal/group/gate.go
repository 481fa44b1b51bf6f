package group

import (
	"context"
	"sync"
	"time"
)

// Gate is open while the store works. The first infrastructure failure closes it
// and the next success opens it. It is safe for concurrent use.
type Gate struct {
	// OnChange is called, outside of any lock, when the gate closes (with the cause)
	// and when it opens (nil). May be nil; set it before use.
	OnChange func(cause error)

	mu     sync.Mutex
	cause  error
	fails  int
	opened chan struct{}
	ok     time.Time // the last success
}

// NewGate returns an open gate.
func NewGate(onChange func(cause error)) *Gate {
	return &Gate{OnChange: onChange}
}

// Pauses between tries while the store does not work.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Fail closes the gate because of err and returns how long to wait before the next
// try.
func (g *Gate) Fail(err error) time.Duration {
	g.mu.Lock()
	first := g.cause == nil
	g.cause = err
	g.fails++
	if first {
		g.opened = make(chan struct{})
	}
	pause := maxPause
	if shift := (g.fails - 1) / 2; shift < 7 {
		pause = min(firstPause<<shift, maxPause)
	}
	g.mu.Unlock()
	if first && g.OnChange != nil {
		g.OnChange(err)
	}
	return pause
}

// OK opens the gate.
func (g *Gate) OK() {
	g.mu.Lock()
	was := g.cause
	g.cause, g.fails, g.ok = nil, 0, time.Now()
	if was != nil {
		close(g.opened)
	}
	g.mu.Unlock()
	if was != nil && g.OnChange != nil {
		g.OnChange(nil)
	}
}

// OKSince reports whether something has succeeded since t.
func (g *Gate) OKSince(t time.Time) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.ok.After(t)
}

// Err returns why the gate is closed, or nil.
func (g *Gate) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.cause
}

// Wait blocks until the gate is open or ctx ends, and reports whether it is open.
func (g *Gate) Wait(ctx context.Context) bool {
	g.mu.Lock()
	if g.cause == nil {
		g.mu.Unlock()
		return true
	}
	opened := g.opened
	g.mu.Unlock()
	select {
	case <-opened:
		return true
	case <-ctx.Done():
		return false
	}
}

// sleep waits for d or until ctx ends, and reports whether it slept through.
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
