package drain

import (
	"context"
	"time"
)

// Line is a work list in shards. Its methods are called by several goroutines, but
// never two Works for one shard at once, nor two Polls.
//
// ctx is the one that Run was given. An implementation that must finish what it
// began detaches itself (context.WithoutCancel) under a deadline of its own, since
// Run waits for it.
type Line interface {
	// Poll looks for shards with rows above marks[shard] or with rows that have
	// become due. It should cost one statement, and must not keep marks.
	Poll(ctx context.Context, marks []int64) (Polled, error)
	// Work works off a batch of the rows of shard above the RowID after, and any
	// that have become due.
	Work(ctx context.Context, shard int, after int64) (Result, error)
}

// Polled is what a look at the line found.
type Polled struct {
	// Shards have rows to work off.
	Shards []int
	// Next is how long until a row will be due that is not yet; 0 if there is none
	// or nobody knows.
	Next time.Duration
}

// Result says how a batch went.
type Result struct {
	// Mark is the RowID up to which the shard's ready rows have been dealt with: the
	// highest one read, if none below it was left where it stood. 0 or what Work was
	// given as after moves nothing.
	Mark int64
	// Rows is how many rows were moved: worked off, put off, set aside. 0 says that
	// the visit brought nothing, and the shard rests.
	Rows int
	// More says that rows above Mark are likely to be there: the shard is visited
	// again without a poll, in its turn.
	More bool
	// Skipped says that another process holds the shard.
	Skipped bool
}
