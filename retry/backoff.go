package retry

import (
	"cmp"
	"encoding/binary"
	"hash/fnv"
	"math"
	"time"

	"github.com/cenkalti/backoff/v4"
)

// MaxDelay is the longest delay of a policy or After.
const MaxDelay = 30 * 24 * time.Hour

// Backoff computes the delay before the next attempt: first Initial, then Factor times
// the previous one, at most Max, minus a share of up to Jitter.
//
// The zero value means the defaults: one second to one hour, factor 2, jitter 0.2.
// In any other value each zero field but Jitter has its default.
type Backoff struct {
	// Initial is the first delay. Default: one second, or Max if that is shorter.
	Initial time.Duration
	// Max bounds every delay. Default: one hour, or Initial if that is longer. At
	// most MaxDelay.
	Max time.Duration
	// Factor multiplies the delay from one attempt to the next. 1 keeps it constant.
	// Default: 2.
	Factor float64
	// Jitter is the largest share, 0 to 1, that is subtracted from a delay, so that
	// messages that failed together do not come back together. 0 means none, unless the
	// whole Backoff is zero.
	Jitter float64
}

// defaultBackoff is what the zero Backoff means.
var defaultBackoff = Backoff{Initial: time.Second, Max: time.Hour, Factor: 2, Jitter: 0.2}

func (b Backoff) withDefaults() Backoff {
	if b == (Backoff{}) {
		return defaultBackoff
	}
	b.Factor = cmp.Or(b.Factor, defaultBackoff.Factor)
	switch {
	case b.Initial == 0 && b.Max == 0:
		b.Initial, b.Max = defaultBackoff.Initial, defaultBackoff.Max
	case b.Initial == 0:
		b.Initial = min(defaultBackoff.Initial, b.Max)
	case b.Max == 0:
		b.Max = max(defaultBackoff.Max, b.Initial)
	}
	return b
}

// Delay returns the delay after the attempt-th delayed failure, counted from 1 (a smaller
// number counts as 1). It is a pure function: the same attempt and seed give the same
// delay in every process and version. It is never negative and never above Max. For a
// value that Policy.Validate rejects, only MaxDelay bounds the delay.
//
// Different seeds have different jitter. Use the message's key.
func (b Backoff) Delay(attempt int, seed string) time.Duration {
	b = b.withDefaults()
	plain := b.interval(attempt)
	if b.Jitter > 0 {
		plain -= time.Duration(min(b.Jitter, 1) * share(seed, attempt) * float64(plain))
	}
	return min(max(plain, 0), MaxDelay)
}

// interval is the delay without jitter. b has its defaults.
func (b Backoff) interval(attempt int) time.Duration {
	calculator := b.calculator()
	delay := calculator.NextBackOff()
	for i := 1; i < attempt; i++ {
		next := calculator.NextBackOff()
		if next == delay { // at Max, or too small to grow: it no longer changes
			break
		}
		delay = next
	}
	return delay
}

// calculator returns a new calculator, whose NextBackOff returns each delay in turn. b has
// its defaults. The library's randomization is off, because it uses a global source.
func (b Backoff) calculator() *backoff.ExponentialBackOff {
	return backoff.NewExponentialBackOff(backoff.WithInitialInterval(b.Initial), backoff.WithMultiplier(b.Factor),
		backoff.WithMaxInterval(b.Max), backoff.WithRandomizationFactor(0), backoff.WithMaxElapsedTime(0))
}

// share maps seed and attempt to a number in [0, 1).
func share(seed string, attempt int) float64 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(seed))
	var n [8]byte
	binary.BigEndian.PutUint64(n[:], uint64(max(attempt, 1)))
	_, _ = h.Write(n[:])
	// FNV's last bytes change its high bits little; mix them (the finalizer of
	// MurmurHash3).
	v := h.Sum64()
	v ^= v >> 33
	v *= 0xff51afd7ed558ccd
	v ^= v >> 33
	v *= 0xc4ceb9fe1a85ec53
	v ^= v >> 33
	return math.Ldexp(float64(v>>11), -53)
}
