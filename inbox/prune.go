package inbox

import (
	"context"
	"time"
)

// PruneRequest asks for one batch of a walk.
type PruneRequest struct {
	Plan
	// Consumer narrows it to what belongs to one consumer; "" means all.
	Consumer string
	// From is where the batch before ended (Pruned.Next); "" is the start.
	From string
	// Limit is the most messages, or letters, that go at once; at least 1.
	Limit int
}

// Pruned is what a batch removed.
type Pruned struct {
	Messages int64 // rows of the inbox, with their attempts
	Letters  int64 // letters, with their audit rows
	// Next is where the walk goes on; "" where it has come to the end.
	Next string
}

// Pruner removes what is old, in batches that are each one transaction of its own, and
// that may be repeated, or be asked for by several processes, without harm. Ages count
// from the last transition, by the database's clock. Drivers implement it.
type Pruner interface {
	// Messages walks over a stretch of the inbox and removes messages that are done or
	// discarded and older than Window, with their attempts, except those that a row of
	// the backlog or an open letter has to do with. It writes only where it finds some.
	Messages(ctx context.Context, r PruneRequest) (Pruned, error)
	// Letters walks over the letters, and removes the closed ones older than DeadLetters
	// whose message is done or gone, and, where OpenLetters is not 0, the open ones older
	// than that with the row and the attempts of their message; with the audit rows.
	Letters(ctx context.Context, r PruneRequest) (Pruned, error)
	// Count says what a whole walk over both would remove at this moment. It reads the
	// whole inbox and ignores From and Limit.
	Count(ctx context.Context, r PruneRequest) (Pruned, error)
	// Take asks for the consumer's next round. Where one is due it is the caller's
	// for the time of lease, and goes on at position ("" is the start).
	Take(ctx context.Context, consumer string, lease time.Duration) (position string, due bool, err error)
	// Keep notes how far the round has come, and that nobody else needs to take it
	// before the time of rest has gone by.
	Keep(ctx context.Context, consumer, position string, rest time.Duration) error
}
