package drain

import (
	"context"
	"time"
)

// Line is a work list in shards. Several goroutines call its methods, but Work never runs
// twice at once for one shard, nor Poll.
//
// ctx is the context of Run. An implementation that must finish its work detaches itself
// (context.WithoutCancel) with its own deadline, since Run waits for it.
type Line interface {
	// Poll looks for shards with rows above marks[shard] or with rows that have become
	// due. It should need only one statement, and must not keep marks.
	Poll(ctx context.Context, marks []int64) (Polled, error)
	// Work processes a batch of the rows of shard above the RowID after, and rows that
	// have become due.
	Work(ctx context.Context, shard int, after int64) (Result, error)
}

// Polled is the result of a poll.
type Polled struct {
	// Shards have rows to process.
	Shards []int
	// Next is how long until the next row is due; 0 if there is none or it is unknown.
	Next time.Duration
}

// Result is the result of a batch.
type Result struct {
	// Mark is the RowID up to which the shard's ready rows are done: the highest one
	// read, unless a lower row was left. 0 or the value of after changes nothing.
	Mark int64
	// Rows is how many rows were processed, postponed or set aside. After 0 the shard
	// rests.
	Rows int
	// More says that there are probably rows above Mark: the shard is visited again in
	// its turn, without a poll.
	More bool
	// Skipped says that another process has the shard.
	Skipped bool
}
