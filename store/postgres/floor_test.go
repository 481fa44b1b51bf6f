package postgres

import "testing"

// TestFloor: the floor follows the mark, but never past what an open transaction may
// still bring, or past what is there.
func TestFloor(t *testing.T) {
	f, l := newFloors(), line{shard: 1}
	for i, step := range []struct {
		after, first int64
		h            horizon
		from         int64 // what the next read for after begins above
	}{
		{0, 1, horizon{100, 110}, 0},
		{10, 11, horizon{100, 110}, 0},  // it comes to 10 once all below 110 have ended
		{20, 21, horizon{105, 120}, 0},  // they have not
		{30, 9, horizon{110, 130}, 0},   // they have, and one of them left a row
		{30, 31, horizon{110, 130}, 10}, // which is gone: the next is 30, at 130
		{40, 41, horizon{129, 140}, 10},
		{40, 41, horizon{130, 150}, 30},
	} {
		f.from(l, step.after)
		f.learn(l, step.after, step.first, step.h)
		if got := f.from(l, step.after); got != step.from {
			t.Errorf("step %d: the next read begins above %d, want %d", i, got, step.from)
		}
	}
	if got := f.from(l, 0); got != 0 {
		t.Errorf("a look at the bottom begins above %d", got)
	}
	if got := f.from(line{of: "other", shard: 1}, 40); got != 40 {
		t.Errorf("the first read of a line begins above %d", got)
	}
}
