package amqp

import (
	"context"
	"math/rand/v2"
	"time"
)

// pause is the time between two attempts to connect: doubled each time, with jitter, so
// that a broker that comes back is not met by all its clients at once.
type pause struct{ next time.Duration }

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// wait waits, and reports false when ctx ends first.
func (p *pause) wait(ctx context.Context) bool {
	d := max(p.next, firstPause)
	p.next = min(2*d, lastPause)
	return sleep(ctx, d/2+rand.N(d/2+1))
}

// reset makes the next pause the shortest.
func (p *pause) reset() { p.next = 0 }

// sleep waits for d, and reports false when ctx ends first.
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
