package breaker

import (
	"context"
	"sync"
	"time"
)

// Breaker is closed while the store works. It is safe for concurrent use.
type Breaker struct {
	// OnChange is called, outside of any lock, when the circuit opens (with the cause)
	// and when it closes (nil). May be nil; set it before use.
	OnChange func(cause error)

	mu    sync.Mutex
	cause error
	fails int
	again chan struct{} // closed when the circuit closes
	ok    time.Time     // the last success
}

// New returns a breaker whose circuit is closed.
func New(onChange func(cause error)) *Breaker { return &Breaker{OnChange: onChange} }

// Pauses between tries while the store does not work.
const (
	firstPause = 50 * time.Millisecond
	maxPause   = 5 * time.Second
)

// Fail opens the circuit because of err, and returns how long to wait before the next
// try.
func (b *Breaker) Fail(err error) time.Duration {
	b.mu.Lock()
	first := b.cause == nil
	b.cause = err
	b.fails++
	if first {
		b.again = make(chan struct{})
	}
	pause := min(firstPause<<min((b.fails-1)/2, 7), maxPause)
	b.mu.Unlock()
	if first && b.OnChange != nil {
		b.OnChange(err)
	}
	return pause
}

// OK closes the circuit.
func (b *Breaker) OK() {
	b.mu.Lock()
	was := b.cause
	b.cause, b.fails, b.ok = nil, 0, time.Now()
	if was != nil {
		close(b.again)
	}
	b.mu.Unlock()
	if was != nil && b.OnChange != nil {
		b.OnChange(nil)
	}
}

// OKSince reports whether OK was called since t.
func (b *Breaker) OKSince(t time.Time) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.ok.After(t)
}

// Err returns why the circuit is open, or nil.
func (b *Breaker) Err() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.cause
}

// Wait blocks until the circuit is closed or ctx ends, and reports whether it is closed.
func (b *Breaker) Wait(ctx context.Context) bool {
	b.mu.Lock()
	cause, again := b.cause, b.again
	b.mu.Unlock()
	if cause == nil {
		return true
	}
	select {
	case <-again:
		return true
	case <-ctx.Done():
		return false
	}
}
