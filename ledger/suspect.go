package ledger

import (
	"context"
	"time"

	"github.com/headrace/headrace/store/txn"
)

// SuspectMode says that rows of steps may be lost, since the database was restored from a
// backup or is a promoted standby. A step without a row is then as one whose call had no
// answer, and so is one that is Failed since before the mode began: Retry calls with the
// same key within KeyWindow, counted from the time of the message, Probe asks Find first,
// Park parks, Skip skips.
type SuspectMode struct {
	// Until is the time until which rows may be lost. The mode is for messages from before
	// it, by their Delivery.Time, and for those without a time. Zero: it is off.
	Until time.Time
	// Since is when the mode began, by the database's clock. By and Reason are of the
	// person who began it.
	Since      time.Time
	By, Reason string
}

// Covers reports whether the mode is on, and for a message of this time; zero is unknown.
func (m SuspectMode) Covers(sent time.Time) bool { return sent.Before(m.Until) }

// SuspectStore keeps the mode of a database. Drivers implement it.
type SuspectStore interface {
	// Get returns the mode.
	Get(ctx context.Context) (SuspectMode, error)
	// Begin begins the mode in t, or moves its Until.
	Begin(ctx context.Context, t *txn.Txn, m SuspectMode) error
	// End ends the mode in t, and reports whether it was on.
	End(ctx context.Context, t *txn.Txn) (bool, error)
	// MarkOpen records in t that a call of r's step may have been made, if the mode is on
	// for its message and there is no row, or one that is Failed since before the mode
	// began. It reports whether it did. The row is Pending then, with Calls 0.
	MarkOpen(ctx context.Context, t *txn.Txn, r Row) (bool, error)
}
