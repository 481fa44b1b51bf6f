package flow

import (
	"context"
	"sync"

	"github.com/ThreeDotsLabs/watermill/message"
)

// Gate is open, or shut while a topic is paused. Its methods do not block, except Wait,
// and may be called concurrently.
type Gate struct {
	mu         sync.Mutex
	shut, open chan struct{} // the channel of the current state is closed
}

// NewGate returns an open Gate.
func NewGate() *Gate {
	g := &Gate{shut: make(chan struct{}), open: make(chan struct{})}
	close(g.open)
	return g
}

// Shut shuts the gate; a second call does nothing.
func (g *Gate) Shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	turn(&g.shut, &g.open)
}

// Open opens the gate; a second call does nothing.
func (g *Gate) Open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	turn(&g.open, &g.shut)
}

// turn closes one and makes the other new.
func turn(one, other *chan struct{}) {
	select {
	case <-*one:
	default:
		close(*one)
		*other = make(chan struct{})
	}
}

// Paused returns a channel that is closed when the gate is shut.
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

// Offer sends m to out; false if the gate is shut or ctx ended, even if a receiver waits.
func (g *Gate) Offer(ctx context.Context, out chan<- *message.Message, m *message.Message) bool {
	paused := g.Paused()
	select {
	case <-paused:
		return false
	case <-ctx.Done():
		return false
	default:
	}
	select {
	case <-paused:
		return false
	case <-ctx.Done():
		return false
	case out <- m:
		return true
	}
}

// Gates are the gates of topics, each open until it is shut. The zero value is empty. Of
// may be called concurrently.
type Gates struct {
	mu  sync.Mutex
	all map[string]*Gate
}

// Of returns the gate of topic, always the same.
func (g *Gates) Of(topic string) *Gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all == nil {
		g.all = make(map[string]*Gate)
	}
	if g.all[topic] == nil {
		g.all[topic] = NewGate()
	}
	return g.all[topic]
}
