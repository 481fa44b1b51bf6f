package relay

import (
	"math"
	"sync/atomic"

	"github.com/headrace/headrace/outbox"
)

// size is a guess at the bytes that the next row holds in memory, from the rows
// before. It rises at once and falls slowly, so that payloads of mixed sizes are
// read in small batches rather than in large ones.
type size struct{ bytes atomic.Uint64 }

const (
	// rowBytes is what a row takes beside its payload, roughly.
	rowBytes = 512
	// firstRows is how many rows are read while nothing is known.
	firstRows = 64
)

// rows returns how many rows to read for that many bytes.
func (s *size) rows(bytes, most int) int {
	each := math.Float64frombits(s.bytes.Load())
	if each == 0 {
		return min(firstRows, most)
	}
	return min(max(int(float64(bytes)/each), 1), most)
}

// learn is told what was read.
func (s *size) learn(held []outbox.HeldRow, ready []outbox.Row) {
	n := len(held) + len(ready)
	if n == 0 {
		return
	}
	total := n * rowBytes
	for i := range held {
		total += len(held[i].Event.Payload)
	}
	for i := range ready {
		total += len(ready[i].Event.Payload)
	}
	mean := float64(total) / float64(n)
	// Two batches that learn at once may forget one of the two: it is a guess.
	s.bytes.Store(math.Float64bits(max(mean, 0.8*math.Float64frombits(s.bytes.Load()))))
}
