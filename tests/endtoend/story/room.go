package story

import (
	"context"
	"sync"
)

// room bounds what is in flight. Once it was full there is room again only when a quarter is free, so that the
// journal writes batches and not one webhook at a time. One goroutine takes, any may give.
type room struct {
	mu             sync.Mutex
	n, bytes       int
	maxN, maxBytes int
	full           bool
	gave           chan struct{}
}

func newRoom(n, bytes int) *room {
	return &room{maxN: n, maxBytes: bytes, gave: make(chan struct{}, 1)}
}

// take waits for room for one webhook, and reports whether there was before ctx ended.
func (r *room) take(ctx context.Context, size int) bool {
	for !r.try(size) {
		select {
		case <-r.gave:
		case <-ctx.Done():
			return false
		}
	}
	return true
}

func (r *room) try(size int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	limit := r.maxN
	if r.full {
		limit -= r.maxN / 4
	}
	r.full = r.n >= limit
	if r.full || r.n > 0 && r.bytes+size > r.maxBytes {
		return false
	}
	r.add(size)
	return true
}

// force takes room that may not be there, for what another run left behind.
func (r *room) force(size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.add(size)
}

func (r *room) add(size int) {
	r.n++
	r.bytes += size
}

// give returns the room of one webhook.
func (r *room) give(size int) {
	r.mu.Lock()
	r.n--
	r.bytes -= size
	r.mu.Unlock()
	select {
	case r.gave <- struct{}{}:
	default:
	}
}
