package inbox

import (
	"context"
	"time"
)

// PruneRequest asks for one batch of a walk.
type PruneRequest struct {
	Plan
	// Consumer limits it to the rows of one consumer; "" means all.
	Consumer string
	// From is the end of the previous batch (Pruned.Next); "" is the start.
	From string
	// Limit is the most messages, or letters, to remove; at least 1.
	Limit int
}

// Pruned is the result of a batch.
type Pruned struct {
	Messages int64 // rows of the inbox, with their attempts
	Letters  int64 // letters, with their audit rows
	// Next is where the walk continues; "" at its end.
	Next string
}

// Pruner removes old rows, in batches, each in its own transaction. Batches may be
// repeated, also by several processes. Ages count from the last transition, by the
// database's clock. Drivers implement it.
type Pruner interface {
	// Messages walks over a part of the inbox and removes messages that are done or
	// discarded and older than Window, with their attempts, except those with a row in
	// the backlog or an open letter.
	Messages(ctx context.Context, r PruneRequest) (Pruned, error)
	// Letters walks over the letters, and removes, with their audit rows, the closed ones
	// older than DeadLetters whose message is done or gone, and the open ones older than
	// OpenLetters (unless that is 0) with the row and the attempts of their message.
	Letters(ctx context.Context, r PruneRequest) (Pruned, error)
	// Expired removes shared results (ledger.Step.Memo), or where none is left early signals, whose
	// time is over, of all consumers: at most limit. It returns how many; fewer than limit if none
	// is left.
	Expired(ctx context.Context, limit int) (int, error)
	// Count returns what a complete walk over both would remove now. It reads the whole
	// inbox and ignores From and Limit.
	Count(ctx context.Context, r PruneRequest) (Pruned, error)
	// Take asks for the consumer's next walk. If one is due the caller has it for the
	// time of lease, and continues at position ("" is the start).
	Take(ctx context.Context, consumer string, lease time.Duration) (position string, due bool, err error)
	// Keep records the position of the walk, and that it is not due before the time of
	// rest has passed.
	Keep(ctx context.Context, consumer, position string, rest time.Duration) error
	// Cut records, before they are removed, that messages of the consumer ("" for all) older
	// than age may be: who compares the inbox with something else cannot know them. What is
	// recorded never moves back. A negative age is in the future.
	Cut(ctx context.Context, consumer string, age time.Duration) error
	// NewestCut returns the time from before which messages of the consumer may be removed;
	// zero if none was.
	NewestCut(ctx context.Context, consumer string) (time.Time, error)
}
