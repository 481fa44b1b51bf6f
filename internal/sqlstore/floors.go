package sqlstore

// Floors decide how low a read of rows in their order must begin: rows may be committed
// after others with higher ids.
type Floors interface {
	// From returns the id or place above which to read for a caller whose mark is after.
	From(l Line, after int64) int64
	// Learn takes the result of a read for a caller whose mark is after: its rows, at
	// least one, and its snapshot.
	Learn(l Line, after int64, rows []int64, h Horizon)
}

// Line names rows that are read in order: a shard of a consumer's backlog, or of the
// outbox, or of some topics of it.
type Line struct {
	Of    string
	Shard int
}

// Horizon is the snapshot of a read: every transaction below Xmin has ended, and none at
// or above Xmax had begun.
type Horizon struct{ Xmin, Xmax int64 }

// NoFloors are for a database with one writer, where rows become visible in order.
type NoFloors struct{}

func (NoFloors) From(_ Line, after int64) int64      { return after }
func (NoFloors) Learn(Line, int64, []int64, Horizon) {}
