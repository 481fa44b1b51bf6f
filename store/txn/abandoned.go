package txn

import "sync"

// Abandoned counts what still waits for an answer that nobody else waits for, so that
// closing the store can wait for it. The zero value counts nothing yet. Unlike a
// sync.WaitGroup it may be added to while somebody waits. Safe for concurrent use.
type Abandoned struct {
	mu    sync.Mutex
	n     int
	ended []chan struct{}
}

// Ended returns what is closed once nothing is left.
func (a *Abandoned) Ended() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	ended := make(chan struct{})
	if a.n == 0 {
		close(ended)
	} else {
		a.ended = append(a.ended, ended)
	}
	return ended
}

// run runs f in a goroutine that is counted.
func (a *Abandoned) run(f func()) {
	a.mu.Lock()
	a.n++
	a.mu.Unlock()
	go func() {
		defer a.done()
		f()
	}()
}

func (a *Abandoned) done() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.n--; a.n > 0 {
		return
	}
	for _, ended := range a.ended {
		close(ended)
	}
	a.ended = nil
}
