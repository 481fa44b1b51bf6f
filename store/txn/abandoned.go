package txn

import "sync"

// Abandoned counts the calls that still wait for an answer after their caller gave up, so
// that closing the store can wait for them. The zero value is ready to use. Unlike a
// sync.WaitGroup it may be added to during a wait. Safe for concurrent use.
type Abandoned struct {
	mu    sync.Mutex
	n     int
	ended chan struct{} // of the calls since n was 0
}

// Ended returns a channel that is closed when no call is left.
func (a *Abandoned) Ended() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n > 0 {
		return a.ended
	}
	ended := make(chan struct{})
	close(ended)
	return ended
}

// Run runs f, which waits for an answer, in a goroutine and counts it.
func (a *Abandoned) Run(f func()) {
	a.mu.Lock()
	if a.n++; a.n == 1 {
		a.ended = make(chan struct{})
	}
	a.mu.Unlock()
	go func() {
		f()
		a.mu.Lock()
		defer a.mu.Unlock()
		if a.n--; a.n == 0 {
			close(a.ended)
		}
	}()
}
