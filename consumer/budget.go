package consumer

import "sync"

// budget bounds what is in flight by number and by bytes. It is safe for concurrent
// use.
type budget struct {
	mu      sync.Mutex
	free    *sync.Cond
	count   int
	bytes   int64
	limit   int
	limitBy int64
	closed  bool
}

func newBudget(count int, bytes int64) *budget {
	b := &budget{limit: count, limitBy: bytes}
	b.free = sync.NewCond(&b.mu)
	return b
}

// take blocks until there is room for one of size bytes, and reports false where
// the budget was closed. One that is larger than the whole is taken when nothing
// else is in flight.
func (b *budget) take(size int64) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	for !b.closed && b.count > 0 && (b.count >= b.limit || b.bytes+size > b.limitBy) {
		b.free.Wait()
	}
	if b.closed {
		return false
	}
	b.count++
	b.bytes += size
	return true
}

func (b *budget) give(size int64) {
	b.mu.Lock()
	b.count--
	b.bytes -= size
	b.mu.Unlock()
	b.free.Broadcast()
}

func (b *budget) close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.free.Broadcast()
}
