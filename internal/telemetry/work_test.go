package telemetry

import (
	"testing"
	"time"

	"github.com/headrace/headrace"
)

// A median is wrong by an eighth at most, whatever it is.
func TestBuckets(t *testing.T) {
	for took := time.Microsecond; took < time.Hour; took += took/7 + 1 {
		if got := middle(bucketOf(took)); took >= 4*time.Microsecond && (got < took-took/8-time.Microsecond || got > took+took/8+time.Microsecond) || got > 2*took+time.Microsecond {
			t.Errorf("%s counts as %s", took, got)
		}
	}
	if b := bucketOf(100 * 24 * time.Hour); b != buckets-1 || bucketOf(-1) != 0 {
		t.Error(b)
	}
}

// What is measured is the last five looks, and nothing at the first.
func TestWork(t *testing.T) {
	tel, err := New(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, now := tel.Measure(), time.Unix(1800000000, 0)
	h := tel.Handler("c", "h", nil)
	for i := range 12 {
		if i < 3 {
			for range 9 {
				h.Took(&headrace.Delivery{}, 10*time.Millisecond, "")
			}
			h.Took(&headrace.Delivery{}, time.Second, "")
		}
		got := w.Work(int64(10*min(i, 3)), now)
		switch {
		case i == 0 && (got.Rate != 0 || got.Median != 0), i == 2 && (got.Rate != 5 || got.Median < 9*time.Millisecond || got.Median > 11*time.Millisecond),
			i == 11 && (got.Rate != 0 || got.Median != 0):
			t.Errorf("%d: %+v", i, got)
		}
		now = now.Add(2 * time.Second)
	}
	if got := (&Measure{}).Work(1, now); got.Rate != 0 {
		t.Errorf("without telemetry: %+v", got)
	}
}
