package retry

import (
	"math"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// Span returns the longest time from the start of a message's first attempt to the end of
// its last one. Each attempt counts as long as timeout, and before each but the first it
// adds the longest delay that the policy has in any class of failure, without the jitter,
// which only shortens. The delays of After are unknown and not counted, nor is the time
// that a due message waits for its turn.
//
// Span is pure. A sum that does not fit a Duration is the longest Duration. p should have
// passed Validate.
func (p Policy) Span(timeout time.Duration) time.Duration {
	p = p.WithDefaults()
	paths := []Policy{p}
	for class := range p.Overrides {
		paths = append(paths, p.forClass(class))
	}
	calculators := make([]*backoff.ExponentialBackOff, len(paths))
	for i, path := range paths {
		calculators[i] = path.Backoff.calculator()
	}
	total := timeout
	for attempt := 1; attempt < p.MaxAttempts; attempt++ {
		longest := time.Duration(0)
		for i, path := range paths {
			if attempt > path.Immediate && attempt < path.MaxAttempts {
				longest = max(longest, min(calculators[i].NextBackOff(), MaxDelay))
			}
		}
		total = plus(total, plus(longest, timeout))
	}
	return total
}

// plus adds two numbers that are not negative, up to the longest Duration.
func plus(a, b time.Duration) time.Duration {
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
