package postgres

import (
	"testing"

	"github.com/headrace/headrace/internal/sqlstore"
)

// TestFloor: the floor follows the mark, but never past what an open transaction may
// still bring, or past what is there and the caller has not seen.
//
//evidence:late-row
func TestFloor(t *testing.T) {
	f, l := newFloors(), sqlstore.Line{Shard: 1}
	h := func(xmin, xmax int64) sqlstore.Horizon { return sqlstore.Horizon{Xmin: xmin, Xmax: xmax} }
	for i, step := range []struct {
		after int64
		rows  []int64
		h     sqlstore.Horizon
		from  int64 // what the next read for after begins above
	}{
		{0, []int64{1}, h(100, 110), 0},
		{10, []int64{11}, h(100, 110), 0},  // it comes to 10 once all below 110 have ended
		{20, []int64{21}, h(105, 120), 0},  // they have not
		{30, []int64{9}, h(110, 130), 0},   // they have, and one of them left a row
		{30, []int64{31}, h(110, 130), 10}, // which is gone: the next is 30, at 130
		{40, []int64{41}, h(129, 140), 10},
		{40, []int64{41}, h(130, 150), 30},
	} {
		f.From(l, step.after)
		f.Learn(l, step.after, step.rows, step.h)
		if got := f.From(l, step.after); got != step.from {
			t.Errorf("step %d: the next read begins above %d, want %d", i, got, step.from)
		}
	}
	if got := f.From(l, 0); got != 0 {
		t.Errorf("a look at the bottom begins above %d", got)
	}
	if got := f.From(sqlstore.Line{Of: "other", Shard: 1}, 40); got != 40 {
		t.Errorf("the first read of a line begins above %d", got)
	}
}

// TestFloorPasses: rows that the caller has left do not hold the floor up; late ones do,
// however often they are read.
func TestFloorPasses(t *testing.T) {
	f, l := newFloors(), sqlstore.Line{Shard: 1}
	xid := int64(100)
	f.From(l, 0)
	for i, step := range []struct {
		after int64
		rows  []int64
		floor int64 // after the read
	}{
		{0, []int64{1, 2, 3}, 0},
		{3, []int64{1, 2, 4}, 0}, // 1 and 2 were left; the next floor is 3
		{4, []int64{1, 2, 5}, 3}, // it is there; the next is 4
		{5, []int64{6}, 4},       // 1 and 2 are below it
		{6, []int64{7}, 5},
		{7, []int64{6, 8}, 5}, // 6 has come late, or was left in vain: not known
		{8, []int64{6, 9}, 5}, // and still is there
		{9, []int64{10}, 6},   // gone
	} {
		f.From(l, step.after)
		f.Learn(l, step.after, step.rows, sqlstore.Horizon{Xmin: xid, Xmax: xid})
		xid++ // no transaction is open between two reads
		if got := f.From(l, 1000); got != step.floor {
			t.Errorf("step %d: the floor is %d, want %d", i, got, step.floor)
		}
	}
}
