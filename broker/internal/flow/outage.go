package flow

import (
	"fmt"
	"log/slog"
	"sync"
	"time"
)

// Outage logs once that an operation fails, and once that it works again, however often
// it was tried meanwhile. Its methods may be called concurrently.
type Outage struct {
	// Log is the logger.
	Log *slog.Logger
	// What is the operation: "receive from SQS".
	What string
	// Say returns the text of an error that may be logged; its argument is never nil.
	Say func(error) string

	mu    sync.Mutex
	tries int
	last  error
}

// Began records a failure; err may be nil.
func (o *Outage) Began(err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	why := "refused"
	if err != nil {
		why = o.Say(err)
	}
	o.last = fmt.Errorf("cannot %s: %s", o.What, why)
	if o.tries++; o.tries > 1 {
		return
	}
	o.Log.Warn("cannot "+o.What+"; it is tried again", "error", why)
}

// Over records a success.
func (o *Outage) Over() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.tries > 0 {
		o.Log.Info("can "+o.What+" again", "tries", o.tries)
	}
	o.tries, o.last = 0, nil
}

// Err returns what failed last; nil after a success.
func (o *Outage) Err() error {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.last
}

// Pause is how long to wait before the next try: 0.1 s, doubled each time up to 5 s.
func (o *Outage) Pause() time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	return min(100*time.Millisecond<<min(max(o.tries-1, 0), 10), 5*time.Second)
}
