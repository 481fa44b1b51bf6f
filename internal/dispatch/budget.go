package dispatch

import "sync"

// Budget bounds the messages in flight by number and by bytes. It is safe for concurrent
// use.
type Budget struct {
	mu      sync.Mutex
	free    *sync.Cond
	count   int
	bytes   int64
	limit   int
	limitBy int64
	closed  bool
}

// NewBudget returns a budget of count messages and bytes bytes.
func NewBudget(count int, bytes int64) *Budget {
	b := &Budget{limit: count, limitBy: bytes}
	b.free = sync.NewCond(&b.mu)
	return b
}

// Take blocks until there is room for a message of size bytes, and reports false if the
// budget was closed. A message larger than the whole budget is taken when no other is in
// flight.
func (b *Budget) Take(size int64) bool {
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

// Give returns the room of a message of size bytes.
func (b *Budget) Give(size int64) {
	b.mu.Lock()
	b.count--
	b.bytes -= size
	b.mu.Unlock()
	b.free.Broadcast()
}

// Close makes every call of Take return false.
func (b *Budget) Close() {
	b.mu.Lock()
	b.closed = true
	b.mu.Unlock()
	b.free.Broadcast()
}
