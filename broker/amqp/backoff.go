package amqp

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/headrace/headrace/internal/sleep"
)

// pause is the time between two attempts to connect: doubled each time, with jitter, so
// that not all clients connect at once when a broker comes back.
type pause struct{ next time.Duration }

const (
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// wait waits, and reports false when ctx ends first.
func (p *pause) wait(ctx context.Context) bool {
	d := max(p.next, firstPause)
	p.next = min(2*d, lastPause)
	return sleep.For(ctx, d/2+rand.N(d/2+1))
}

// reset makes the next pause the shortest.
func (p *pause) reset() { p.next = 0 }
