package task

import (
	"math"
	"sync/atomic"
	"time"
)

// Pace holds running means of a handler. It is safe for concurrent use; the zero value is
// empty.
type Pace struct {
	each  atomic.Int64 // time of a message in its transaction, in ns
	rate  atomic.Int64 // share of messages that fail, in millionths
	small atomic.Int64 // transactions to keep small after a deadlock
}

// After a deadlock, transactions are small for a while: fewer rows are locked at once.
const (
	smallBatch   = 4
	smallBatches = 32
)

// MaxSavepoints bounds the subtransactions of a transaction, including those of Nested.
// PostgreSQL caches 64 of them where every reader finds them quickly; with more, readers
// of the whole server slow down.
const MaxSavepoints = 32

// slow is the message time above which the cost of a transaction matters little.
const slow = 5 * time.Millisecond

// learning is about how many messages the failure rate covers.
const learning = 256

// Took records how long a transaction with n messages took.
func (p *Pace) Took(d time.Duration, n int) {
	each := int64(d) / int64(max(n, 1))
	old := p.each.Load()
	if old == 0 {
		old = each
	}
	p.each.Store(max(1, old+(each-old)/8))
}

// Ran records how many of n messages failed.
func (p *Pace) Ran(failed, n int) {
	if n == 0 {
		return
	}
	old := p.rate.Load()
	if old == 0 && failed == 0 {
		return
	}
	share := int64(failed) * 1_000_000 / int64(n)
	p.rate.Store(max(0, old+(share-old)*int64(n)/int64(n+learning)))
}

// Deadlocked keeps the next transactions small.
func (p *Pace) Deadlocked() { p.small.Store(smallBatches) }

// Room returns how many messages the next transaction should hold: at most limit, and no
// more than can probably be handled within batch.
func (p *Pace) Room(limit int, batch time.Duration) int {
	n := limit
	if p.small.Load() > 0 {
		p.small.Add(-1)
		n = min(n, smallBatch)
	}
	if each := p.each.Load(); each > 0 {
		n = min(n, max(1, int(int64(batch)/each)))
	}
	if c := p.spacing(); c < n { // no more than the limit of savepoints allows
		n = min(n, c*MaxSavepoints)
	}
	return n
}

// Slow reports whether messages are so slow, or their time unknown, that they gain little
// from sharing transactions and should run concurrently.
func (p *Pace) Slow() bool {
	each := p.each.Load()
	return each == 0 || each > int64(slow)
}

// Spacing returns after how many messages a transaction of n messages sets a savepoint; 0
// means never. failed says that one of them has failed already.
//
// A savepoint costs a round trip for c messages, and a failure the rerun of half of them
// on average: c = √(2/rate) costs least. If c is not below n, a complete rollback is so
// rare that it costs less than savepoints.
func (p *Pace) Spacing(n int, failed bool) int {
	c := p.spacing()
	switch {
	case n == 1 && !failed && p.rate.Load() < 333_333: // a savepoint costs a third of another transaction
		return 0
	case failed:
		return min(c, max(1, int(math.Sqrt(2*float64(n)))))
	case c >= n && n > 1:
		return 0
	}
	return c
}

func (p *Pace) spacing() int {
	rate := float64(p.rate.Load()) / 1_000_000
	if rate == 0 {
		return math.MaxInt
	}
	return max(1, int(math.Round(math.Sqrt(2/rate))))
}
