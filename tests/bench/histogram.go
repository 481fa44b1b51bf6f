package main

import (
	"math/bits"
	"sync/atomic"
	"time"
)

// histogram counts durations in buckets that are at most 1/32 wide of what they
// hold. It takes the same memory however many there are, and may be added to from
// any goroutine.
type histogram struct {
	counts [(64 - fine) << fine]atomic.Int64
}

const fine = 5 // 1<<fine buckets for each power of two

func bucket(d time.Duration) int {
	v := uint64(max(d, 0))
	if v < 1<<fine {
		return int(v)
	}
	power := bits.Len64(v) - 1 - fine
	return power<<fine + int(v>>power)
}

// middle is the middle of a bucket.
func middle(i int) time.Duration {
	if i < 1<<(fine+1) {
		return time.Duration(i)
	}
	power := i>>fine - 1
	low := uint64(i-power<<fine) << power
	return time.Duration(low + 1<<power/2)
}

func (h *histogram) add(d time.Duration) { h.counts[bucket(d)].Add(1) }

// percentile returns the duration that p of all (0 to 1) do not exceed; 0 where
// nothing was added.
func (h *histogram) percentile(p float64) time.Duration {
	var total int64
	for i := range h.counts {
		total += h.counts[i].Load()
	}
	rank := max(int64(p*float64(total)+0.5), 1)
	for i := range h.counts {
		if rank -= h.counts[i].Load(); rank <= 0 {
			return middle(i)
		}
	}
	return 0
}
