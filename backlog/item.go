package backlog

import (
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/shard"
)

// Shards is the number of parts of a consumer's backlog. At most that many workers, over
// all processes, work on it at a time.
const Shards = shard.Count

// Item is a row of the backlog: a message for one handler.
type Item struct {
	// RowID names the row, and orders the rows of a strict order key. Stores set it; it
	// never changes.
	RowID int64
	// Place orders the ready rows of a shard. Stores draw it anew each time that a row
	// becomes ready.
	Place int64
	// Consumer and Handler name the handler of the row; Delivery.Scope is made of both.
	Consumer string
	Handler  string
	// Delivery is the message. Attempt counts the run to come; ReceivedAt is not kept.
	Delivery headrace.Delivery
	// Spread gives the row, if it has no order key, the next shard in turn: its handler
	// is slow. Other rows share a shard with rows written at about the same time, so that
	// one visit finds them together. Spread is not kept.
	Spread bool
	// Delay is how long the row waits until it is ready, by the database's clock; 0 means
	// that it is ready at once.
	Delay time.Duration
	// Strict says that the row takes part in the order of its key: see Order.
	Strict bool
	// Spent is how many of the recorded attempts do not count against the policy's
	// limit, because they came before a redrive.
	Spent int
	// Reruns counts the runs since the last attempt that cost no attempt, such as those
	// after a deadlock.
	Reruns int
	// Postponed is how long the message has been postponed (retry.Postpone) since its
	// last attempt; 0 if it is not postponed.
	Postponed time.Duration
	// Reason says why the latest run cost no attempt: the error of a postponement or of a
	// rerun. It is "" if the run cost one, or there was none. Read does not return it: see
	// inbox.Wait.
	Reason string
	// ErrorFingerprint is that of the newest failed attempt (see dlq.Failure); "" if none
	// failed. Read does not return it: see Admin.
	ErrorFingerprint string
	// LetterID is the dead letter that this was redriven from; 0 if none.
	LetterID int64
	// Redrives counts how often the message was redriven.
	Redrives int

	// Read sets these; they are not columns. Behind: an earlier row of its strict order
	// key must run first, and is not ready. Followed: rows of its key are blocked behind
	// it.
	Behind   bool
	Followed bool

	// Starts counts the leases of the message since it came into the backlog. Lost says
	// that the lease before this one was not given back: its process ended or was cut
	// off. Stores set both.
	Starts int
	Lost   bool
}

// OrderKey names the messages of a scope that keep their order.
type OrderKey struct {
	// Scope is the scope of the messages, and Key their Delivery.OrderKey.
	Scope string
	Key   string
}

// OrderKey returns the strict order key of the row; false if it has none.
func (i *Item) OrderKey() (OrderKey, bool) {
	return OrderKey{Scope: i.Delivery.Scope, Key: i.Delivery.OrderKey}, i.Strict && i.Delivery.OrderKey != ""
}

// Change describes a row that is to run again.
type Change struct {
	// RowID names the row.
	RowID int64
	// Delay is how long it waits; 0 makes it ready again, behind the rows that are ready.
	Delay time.Duration
	// Attempt is the number of the next run; Reruns is as in Item.
	Attempt int
	Reruns  int
	// Postponed says that it was postponed: Item.Postponed counts from the first such
	// change since the last attempt. A change with Reruns is no attempt.
	Postponed bool
	// Reason is as in Item.
	Reason string
	// ErrorFingerprint is that of the attempt that failed; "" keeps the row's: the run
	// cost no attempt.
	ErrorFingerprint string
}

// ReadRequest asks for ready rows of a shard.
type ReadRequest struct {
	// Consumer and Shard name the shard.
	Consumer string
	Shard    int
	// After is the Place up to which the caller has dealt with the rows. Read returns
	// rows that committed late even below it, so that a row never comes after a later row
	// of its order key.
	After int64
	// Limit bounds the rows, and Bytes their payloads in all: the first row is returned
	// whatever its size. Both are positive.
	Limit int
	Bytes int64
	// Handlers are the caller's handlers. Rows of other handlers come without payload and
	// metadata, so that the caller can skip them.
	Handlers []string
	// Rows limits the result to these rows; nil means any.
	Rows []int64
}

// Poll is the result of polling the backlog of a consumer.
type Poll struct {
	// Shards are those with ready rows above their marks.
	Shards []int
	// Due says that delayed rows have become due.
	Due bool
	// Next is how long until the next delayed row becomes due; 0 if there is none, or
	// with Due.
	Next time.Duration
}

// MaxDepth is how many rows of a status are counted at most for one consumer: a gauge that is
// read every few seconds must not walk over a long backlog.
const MaxDepth = 3_000

// MaxOldest is how many ready rows of each shard Depths looks at, at most.
const MaxOldest = 4

// Depth says how much a backlog holds. For one consumer, each number is at most MaxDepth
// (Ready twice that, if it has leased handlers and others).
type Depth struct {
	Ready     int64 // can be worked off now, or leased
	Delayed   int64 // wait for their time, including the postponed ones
	Postponed int64 // the delayed ones that were postponed, of the first tenth of MaxDepth
	Blocked   int64 // wait behind another message of their order key
	Leased    int64 // a leased handler has it, or had it when its process ended
	// Oldest is the age of the oldest ready row since it became ready; 0 if none.
	Oldest time.Duration
}

// HandlerDepth is how much waits for a handler.
type HandlerDepth struct {
	// Consumer and Handler name it.
	Consumer string
	Handler  string
	Depth
}
