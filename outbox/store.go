package outbox

import (
	"context"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/txn"
)

// Store keeps the outbox's rows on two lines: ready ones, and held ones apart, so
// that a look for work never walks over rows whose time has not come. Drivers
// implement it. Methods that take a transaction leave its end to the caller.
type Store interface {
	// Insert writes rows in one statement, in the order given; those with a Delay
	// onto the held line. q is any transaction of this database. No rows is no
	// statement.
	Insert(ctx context.Context, q headrace.Execer, rows []Row) error
	// Poll looks, without a transaction and without writing, for shards with rows
	// above marks[shard] or with due ones. marks has Shards elements.
	Poll(ctx context.Context, marks []int64) (Poll, error)
	// LockShard takes the shard for this transaction, without waiting, and reports
	// whether it got it. What the holder before committed is seen by the statements
	// after this one. idle ends the transaction on the server when it idles for longer
	// between two statements, so that a process that was stopped does not keep the
	// shard; 0 leaves the server's setting. A store without such a thing (SQLite)
	// ignores it.
	LockShard(ctx context.Context, t *txn.Txn, shard int, idle time.Duration) (bool, error)
	// Read returns at most limit ready rows, by RowID, to a caller that has dealt with
	// those up to after: the rows above it. What commits late may stand below: then, and
	// for as long as the store cannot tell, it begins there, so that a row never comes
	// after one of its order that was written behind it.
	Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]Row, error)
	// ReadHeld returns at most limit held rows of the shard that may be published
	// now, by RowID: those Delayed or in Backoff that are due, and those Behind
	// whose Order has no row in Backoff or Parked that is not due.
	ReadHeld(ctx context.Context, t *txn.Txn, shard int, limit int) ([]HeldRow, error)
	// Blocked returns the orders of the shard that have a held row other than a
	// Delayed one, and the first such row of each.
	Blocked(ctx context.Context, t *txn.Txn, shard int) ([]Block, error)
	// Delete removes published rows from either line; those that are gone already are
	// passed over. Where the first row of an Order goes from the held line, the one
	// Behind it is due, so that a Poll finds it.
	Delete(ctx context.Context, t *txn.Txn, shard int, rows []int64) error
	// Hold moves rows onto the held line, or updates those that stand there; those
	// that are gone are passed over.
	Hold(ctx context.Context, t *txn.Txn, holds []Hold) error
}

// Topics chooses rows by their topics: those of Names, or with Except all others.
type Topics struct {
	Names  []string
	Except bool
}

// Chooser looks at rows of chosen topics only, for routes, which take theirs past all
// others, however many stand there. Drivers implement it beside Store.
type Chooser interface {
	// PollTopics is Store.Poll for chosen topics. It walks over the others above the
	// marks, and returns the highest RowID on the ready line of each shard, so that the
	// next look can begin there.
	PollTopics(ctx context.Context, marks []int64, topics Topics) (Poll, []int64, error)
	// ReadTopics is Store.Read for chosen topics.
	ReadTopics(ctx context.Context, t *txn.Txn, shard int, after int64, limit int, topics Topics) ([]Row, error)
	// ReadHeldTopics is Store.ReadHeld for chosen topics.
	ReadHeldTopics(ctx context.Context, t *txn.Txn, shard int, limit int, topics Topics) ([]HeldRow, error)
}

// SingleWriter is implemented by a Store whose transactions keep every other writer
// of the database waiting (SQLite). Nobody may wait for a sink inside of one, the
// less so since the sink may write into the same database: the relay then reads in
// one transaction, publishes without any, and deletes in another. Two processes may
// publish the same row then, each in order and under the same id.
type SingleWriter interface {
	// SingleWriter does nothing; having it says it.
	SingleWriter()
}

// Admin is what operators need of the outbox. Drivers implement it beside Store.
type Admin interface {
	// Status counts. It reads indexes of the whole outbox.
	Status(ctx context.Context) (Status, error)
	// Parked returns at most limit parked rows above after, by RowID, without their
	// payloads.
	Parked(ctx context.Context, after int64, limit int) ([]HeldRow, error)
	// Unpark makes parked rows due at once with their attempts forgotten, all of them
	// where rows is empty, and returns how many.
	Unpark(ctx context.Context, rows []int64) (int, error)
	// Signal wakes the relay of this store in this process.
	Signal() *Signal
}
