package backlog

import (
	"context"
	"errors"
	"time"

	"github.com/headrace/headrace/inbox"
)

// ErrNotFound matches the error of a row that is not in the backlog, or not any more.
var ErrNotFound = errors.New("no such row of the backlog")

// Limits of an Admin's queries, so that none reads a whole table.
const (
	// MaxLook is how many rows List looks at in one call.
	MaxLook = 2_000
	// MaxGroups is how many error fingerprints Groups looks at, and MaxCounted how many rows
	// it counts in all, the same number of each fingerprint.
	MaxGroups  = 50
	MaxCounted = 1_500
)

// Admin looks at the rows of the backlog, for operators. It changes nothing. Drivers
// implement it, safe for concurrent use.
type Admin interface {
	// List returns at most limit rows of f with an id above after, by id, without payload
	// and metadata. It looks at MaxLook rows at most. next is the id to go on after; 0 if
	// there are no more.
	List(ctx context.Context, f Filter, after int64, limit int) (rows []Row, next int64, err error)
	// Groups returns the rows of f that failed, grouped by handler and error fingerprint,
	// largest group first. f.Status is not used.
	Groups(ctx context.Context, f Filter) ([]Group, error)
	// Get returns a row with its payload and metadata. The error matches ErrNotFound if it
	// is not there.
	Get(ctx context.Context, row int64) (Row, error)
}

// Filter chooses rows. Each field that is not empty narrows it.
type Filter struct {
	// Consumer and Handler are as in Item.
	Consumer string
	Handler  string
	// Status is "ready", "delayed", "blocked", "leasable" or "leased".
	Status string
	// ErrorFingerprint is that of the newest failed attempt.
	ErrorFingerprint string
}

// Row is a row of the backlog as an operator sees it.
type Row struct {
	Item
	// Wait says what the row waits for.
	Wait inbox.Wait
	// Ready is when the row last became ready, by the database's clock.
	Ready time.Time
	// Error is the text of the newest failed attempt; "" if none failed, or if there is
	// no ErrorFingerprint.
	Error string
	// PayloadBytes is the size of the payload.
	PayloadBytes int
}

// Group is the rows of a handler whose newest failed attempts have the same reason.
type Group struct {
	// ErrorFingerprint, Consumer and Handler are what the rows share.
	ErrorFingerprint string
	Consumer         string
	Handler          string
	// Count is the number of rows. With More there may be more than Count, which is then the
	// fingerprint's share of MaxCounted.
	Count int64
	More  bool
	// Due is when the first of the delayed rows is due; zero if none is delayed.
	Due time.Time
	// SampleID is the newest of the rows, and Error the text of its newest failed attempt.
	SampleID int64
	Error    string
}
