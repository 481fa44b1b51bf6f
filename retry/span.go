package retry

import (
	"math"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Span returns the longest time from the start of a message's first attempt to the
// end of its last one: each attempt as long as timeout (0 counts none), and before
// each but the first the longest delay that the policy has for it in any class of
// failure, without the jitter, which only shortens. What a handler asks for with
// After is not known and not counted, nor is the time that a due message waits for its
// turn.
//
// Span is pure. A sum that a Duration cannot hold is the longest Duration. p should
// have passed Validate.
func (p Policy) Span(timeout time.Duration) time.Duration {
	p = p.WithDefaults()
	paths := []*delays{newDelays(p)}
	for class := range p.Overrides {
		paths = append(paths, newDelays(p.forClass(class)))
	}
	total := time.Duration(0)
	for attempt := 1; attempt <= p.MaxAttempts; attempt++ {
		total = plus(total, timeout)
		if attempt == p.MaxAttempts {
			break
		}
		longest := time.Duration(0)
		for _, d := range paths {
			longest = max(longest, d.after(attempt))
		}
		total = plus(total, longest)
	}
	return total
}

// delays are the delays of a policy, in order: asked for one by one, they cost a sum
// over the attempts and not a sum of sums.
type delays struct {
	p          Policy
	calculator *backoff.ExponentialBackOff
}

func newDelays(p Policy) *delays { return &delays{p: p, calculator: p.Backoff.calculator()} }

// after returns the delay after that attempt failed; attempts count up from 1.
func (d *delays) after(attempt int) time.Duration {
	if attempt <= d.p.Immediate || attempt >= d.p.MaxAttempts {
		return 0
	}
	return min(d.calculator.NextBackOff(), MaxDelay)
}

// plus adds what is not negative, up to the longest Duration.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
