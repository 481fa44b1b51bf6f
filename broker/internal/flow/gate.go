package flow

import (
	"context"
	"sync"
	"time"
)

// Gate is open, or shut while a topic is paused. Its methods do not block, except Wait,
// and may be called concurrently.
type Gate struct {
	mu         sync.Mutex
	shut, open chan struct{} // the one that is true is closed
}

// NewGate returns an open Gate.
func NewGate() *Gate {
	g := &Gate{shut: make(chan struct{}), open: make(chan struct{})}
	close(g.open)
	return g
}

// Shut shuts the gate; a second time changes nothing.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	turn(&g.shut, &g.open)
}

// Open opens the gate; a second time changes nothing.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	turn(&g.open, &g.shut)
}

// turn makes one true and the other false.
func turn(one, other *chan struct{}) {
	select {
	case <-*one:
	default:
		close(*one)
		*other = make(chan struct{})
	}
}

// Paused returns what is closed once the gate is shut.
func (g *Gate) Paused() <-chan struct{} {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.shut
}

// Wait waits until the gate is open; false if ctx ended.
func (g *Gate) Wait(ctx context.Context) bool {
	g.mu.Lock()
	open := g.open
	g.mu.Unlock()
	select {
	case <-open:
		return ctx.Err() == nil
	case <-ctx.Done():
		return false
	}
}

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-ctx.Done():
	}
}
