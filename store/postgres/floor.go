package postgres

import (
	"sync"

	"github.com/headrace/headrace/internal/sqlstore"
)

// floors implement sqlstore.Floors. They record for each line below which id no new row can appear.
//
// A caller that works off a line tells Read its mark, so that Read does not walk over the
// rows it has deleted. But ids and places are drawn before the commit. A row with a lower
// id may become visible late, after rows with higher ids that were written behind it for
// the same order key. Reading only above the mark would return those before the late row.
// So Read begins at the floor. The floor follows the mark when every transaction that was
// open when the caller reached the mark has ended, and a read has found no row below it
// except rows that the caller had seen and left.
//
// Only transactions with an id count, so a long snapshot does not stop the floor. A long
// writing transaction in the cluster does: then Read walks over the rows deleted since it
// began.
type floors struct {
	mu    sync.Mutex
	lines map[sqlstore.Line]*floor
}

type floor struct {
	at int64
	// next is where the floor may rise to when the transactions below open have ended.
	next int64
	open int64
	// seen are the rows above the floor that a read returned before the caller had
	// reached them. If one still exists after the caller has, the caller left it, for
	// example because it does not have its handler. For a row that was below the mark
	// when a read returned it, this is not known: the caller's transaction may have been
	// rolled back.
	seen map[int64]bool
}

func newFloors() sqlstore.Floors { return &floors{lines: make(map[sqlstore.Line]*floor)} }

func (f *floors) From(l sqlstore.Line, after int64) int64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.lines[l] == nil {
		f.lines[l] = &floor{at: after}
	}
	return min(after, f.lines[l].at)
}

func (f *floors) Learn(l sqlstore.Line, after int64, rows []int64, h sqlstore.Horizon) {
	f.mu.Lock()
	defer f.mu.Unlock()
	floor := f.lines[l]
	if floor.next > floor.at && h.Xmin >= floor.open {
		floor.rise(after, rows)
	}
	floor.look(after, rows)
	if floor.next <= floor.at && after > floor.at {
		floor.next, floor.open = after, h.Xmax
	}
}

// rise moves the floor to next, or as far as the read has come, unless the read has found
// a row below that which the caller may not have seen.
func (f *floor) rise(after int64, rows []int64) {
	to := min(f.next, rows[len(rows)-1])
	for _, row := range rows {
		if row > f.at && row <= to && !(f.seen[row] && row <= after) {
			return
		}
	}
	f.at = to
}

// look records the rows that the caller sees. A row that was there and was not read again
// is gone.
func (f *floor) look(after int64, rows []int64) {
	seen := make(map[int64]bool, len(rows))
	for row := range f.seen {
		if row > rows[len(rows)-1] {
			seen[row] = true
		}
	}
	for _, row := range rows {
		if row > f.at && (row > after || f.seen[row]) {
			seen[row] = true
		}
	}
	f.seen = seen
}
