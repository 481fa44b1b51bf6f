package backlog

import (
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/shard"
)

// Shards is the number of lines that the backlog of a consumer, and the outbox,
// are divided into. At most that many workers, over all processes, work on one at
// a time.
const Shards = shard.Count

// Item is a row of the backlog: a message that one handler will be given.
type Item struct {
	// RowID orders the rows of a line. Stores set it, anew each time that a row
	// becomes ready.
	RowID int64
	// Consumer and Handler say who works it off; Delivery.Scope is made of both.
	Consumer string
	Handler  string
	// Delivery is the message. Attempt counts the run to come; ReceivedAt is not kept.
	Delivery headrace.Delivery
	// Delay keeps the row off the ready line for this long, by the database's clock;
	// 0 makes it ready.
	Delay time.Duration
	// Blocked keeps the row off the ready line until Order.Release, because an
	// earlier message of its order key waits.
	Blocked bool
	// Strict says that the row takes part in the order of its key.
	Strict bool
	// Spent is how many of the recorded attempts do not count against the policy's
	// limit, because they came before a redrive.
	Spent int
	// LetterID is the dead letter that this was redriven from; 0 if none.
	LetterID int64
	// Redrives counts how often the message was redriven.
	Redrives int
	// Starts counts the leases that were given for the message since it came into the
	// backlog, and Lost says that the one before this was not given back: its process
	// ended or was cut off. Stores set both.
	Starts int
	Lost   bool
}

// OrderKey names the messages of a scope that keep their order.
type OrderKey struct {
	// Scope is that of the messages, and Key their Delivery.OrderKey.
	Scope string
	Key   string
}

// Lock is the number under which the order of k is locked.
func (k OrderKey) Lock() int64 { return shard.Lock("order", k.Scope, k.Key) }

// Poll is what an idle look at the backlog of a consumer finds.
type Poll struct {
	// Shards with rows beyond their marks on the ready line.
	Shards []int
	// Due says that rows off the ready line have become due.
	Due bool
	// Next is how long until the next of them will be due; 0 where there is none
	// or Due.
	Next time.Duration
}

// Depth says how much a backlog holds.
type Depth struct {
	Ready   int64 // can be worked off now, or leased
	Delayed int64 // waits for its time
	Blocked int64 // waits behind another message of its order key
	Leased  int64 // a leased handler has it, or had it when its process ended
	// Oldest is the age of the oldest ready row since it was put there; 0 if none.
	Oldest time.Duration
}
