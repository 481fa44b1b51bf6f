package outbox

import (
	"context"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/store/txn"
)

// Store keeps the rows of one outbox, whose name it was given: the held ones apart from the ready ones, so that a poll
// never walks over rows whose time has not come. Drivers implement it. The caller ends
// the transaction that it passes to a method.
type Store interface {
	// Insert writes rows in one statement, in the order given; those with a Delay become
	// held. q is any transaction of this database. For no rows it runs no statement.
	//
	// A row whose event is not Local goes into this outbox. Each row is also copied onto the
	// line of each consumer that is subscribed to its topic (see Subscriptions); a Local one
	// without a subscription goes onto the line Unclaimed.
	Insert(ctx context.Context, q headrace.Execer, rows []Row) error
	// Poll looks for shards with rows above marks[shard], or with due ones. It uses no
	// transaction and does not write. marks has Shards elements.
	Poll(ctx context.Context, marks []int64) (Poll, error)
	// LockShard takes the shard for this transaction, without waiting, and reports
	// whether it got it. The statements after this one see the commits of the previous
	// holder. The server ends the transaction if it idles for longer than idle between
	// two statements, so that a frozen process does not keep the shard; 0 leaves the
	// server's setting. SQLite has no such setting and ignores it.
	LockShard(ctx context.Context, t *txn.Txn, shard int, idle time.Duration) (bool, error)
	// Read returns at most limit ready rows above after, by RowID; the
	// caller has dealt with those up to after. Rows that commit late may be below it: as
	// long as the store cannot rule that out, it begins lower, so that a row never comes
	// after a later row of its order.
	Read(ctx context.Context, t *txn.Txn, shard int, after int64, limit int) ([]Row, error)
	// ReadHeld returns at most limit held rows that may be published now, by RowID: rows that are Delayed or in Backoff and due, and rows Behind whose Order
	// has no row that is Parked or in Backoff and not due.
	ReadHeld(ctx context.Context, t *txn.Txn, shard int, limit int) ([]HeldRow, error)
	// Blocked returns the orders of the shard that have a held row other than a
	// Delayed one, and the first such row of each.
	Blocked(ctx context.Context, t *txn.Txn, shard int) ([]Block, error)
	// Delete removes published rows, held or ready, and skips those that are gone. If it
	// removes the first held row of an Order, the row Behind it becomes due, so that a
	// Poll finds it.
	Delete(ctx context.Context, t *txn.Txn, shard int, rows []int64) error
	// Hold makes rows held, or updates those that are held already. It skips rows that
	// are gone.
	Hold(ctx context.Context, t *txn.Txn, holds []Hold) error
}

// SingleWriter is implemented by a Store whose transactions block every other writer of
// the database (SQLite). The relay must not call a sink inside such a transaction, all
// the more since the sink may write into the same database. So it reads in one
// transaction, publishes without one, and deletes in another. Two processes may then
// publish the same row, each in order and under the same id.
type SingleWriter interface {
	// SingleWriter does nothing; it marks the type.
	SingleWriter()
}

// Admin is the interface for operators of the outbox. Drivers implement it beside Store.
type Admin interface {
	// Name is the name of the store's outbox.
	Name() string
	// Status counts the store's outbox. It reads indexes of all of it.
	Status(ctx context.Context) (Status, error)
	// List is the Status of every outbox of the database that has events or a relay, by
	// name, or of the one called name.
	List(ctx context.Context, name string) ([]Status, error)
	// Topics counts what waits in the outbox or on the line called name, by topic. It reads
	// MaxTopicRows of each shard at most.
	Topics(ctx context.Context, name string) ([]TopicStatus, error)
	// Parked returns at most limit parked rows above after, by RowID, without their
	// payloads: those of the outbox called name, or of all if it is "".
	Parked(ctx context.Context, name string, after int64, limit int) ([]HeldRow, error)
	// Unpark makes parked rows due at once and resets their attempts, for all parked rows
	// if rows is empty, and returns how many. name is as for Parked.
	Unpark(ctx context.Context, name string, rows []int64) (int, error)
	// Signal wakes the relay of this store in this process.
	Signal() *Signal
}
