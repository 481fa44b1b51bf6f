package postgres

import "sync"

// floors know for each line up to where no row can come up any more.
//
// A caller that works off a line tells Read how far it has come, so as not to walk over
// what it has deleted. But ids are drawn before commits: a row with a lower one may come
// up later, and then rows with higher ones that were written behind it, for the same
// order key and after its commit. Whoever reads above the mark alone gives those out
// before the late one. So Read begins at the floor, which follows the mark once every
// transaction that was open when the mark was reached has ended, and a read has found
// nothing below it.
//
// Only transactions with an id count: a long snapshot holds no floor up. A long writing
// transaction in the cluster does: then Read walks over what was deleted since it began.
type floors struct {
	mu    sync.Mutex
	lines map[line]*floor
}

// line names what is read in order.
type line struct {
	of    string // the consumer, or the topics
	shard int
}

type floor struct {
	at int64
	// next is where it may come to when the transactions below open have ended.
	next int64
	open int64
}

func newFloors() *floors { return &floors{lines: make(map[line]*floor)} }

// from returns above which id to read for a caller that has come to after.
func (f *floors) from(l line, after int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines[l] == nil {
		f.lines[l] = &floor{at: after}
	}
	return min(after, f.lines[l].at)
}

// horizon is the snapshot of a read: every transaction below xmin has ended, and none at
// xmax or above had begun.
type horizon struct{ xmin, xmax int64 }

// learn takes what a read for a caller that has come to after has found: its first row,
// and its snapshot.
func (f *floors) learn(l line, after, first int64, h horizon) {
	f.mu.Lock()
	defer f.mu.Unlock()
	floor := f.lines[l]
	if floor.next > floor.at && h.xmin >= floor.open && first > floor.next {
		floor.at = floor.next
	}
	if floor.next <= floor.at && after > floor.at {
		floor.next, floor.open = after, h.xmax
	}
}
