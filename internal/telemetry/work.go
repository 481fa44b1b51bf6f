package telemetry

import (
	"math/bits"
	"sync/atomic"
	"time"

	"github.com/headrace/headrace/instance"
)

// buckets are those of a histogram of times in µs: four in each octave, so that a median is wrong by
// an eighth at most.
const buckets = 4 * 33

// runs counts the runs of handlers by how long they took. The zero value is ready for use.
type runs [buckets]atomic.Uint32

// add counts a run. It is one atomic add.
func (r *runs) add(took time.Duration) { r[bucketOf(took)].Add(1) }

func bucketOf(took time.Duration) int {
	us := uint64(max(took.Microseconds(), 1))
	octave := bits.Len64(us) - 1
	return min(4*octave+int(us<<2>>octave)&3, buckets-1)
}

// middle is a time in the middle of a bucket.
func middle(bucket int) time.Duration {
	return time.Duration((2*(4+bucket&3)+1)<<(bucket/4)) * time.Microsecond / 8
}

// looks is over how many calls of Work an instance is measured.
const looks = 5

// Measure measures what a consumer's process does. One goroutine uses it.
type Measure struct {
	t    *Telemetry
	past [looks]look // a ring; the one at next is the oldest
	next int
}

// look is what was counted until a time.
type look struct {
	at      time.Time
	applied int64
	runs    [buckets]uint32
}

// Measure returns a measure of the handlers of t.
func (t *Telemetry) Measure() *Measure { return &Measure{t: t} }

// Work returns the rate and the median since the call that was five calls ago, or the first one. applied is
// how many messages were applied until now.
func (w *Measure) Work(applied int64, now time.Time) (work instance.Work) {
	this := look{at: now, applied: applied}
	if w.t != nil {
		for i := range this.runs {
			this.runs[i] = w.t.runs[i].Load()
		}
	}
	first := w.past[w.next]
	for i := 1; i < looks && first.at.IsZero(); i++ {
		first = w.past[(w.next+i)%looks]
	}
	w.past[w.next], w.next = this, (w.next+1)%looks
	passed := now.Sub(first.at)
	if first.at.IsZero() || passed <= 0 {
		return instance.Work{}
	}
	work.Rate = float64(applied-first.applied) / passed.Seconds()
	var all, half uint32
	for i, n := range this.runs {
		all += n - first.runs[i]
	}
	for i, n := range this.runs {
		if half += n - first.runs[i]; half > 0 && 2*half >= all {
			work.Median = middle(i)
			break
		}
	}
	return work
}
