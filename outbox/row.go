package outbox

import (
	"sync/atomic"
	"time"

	"github.com/headrace/headrace"
	"github.com/headrace/headrace/internal/shard"
)

// Shards is the number of parts of the outbox: at most that many relays publish at a
// time, over all processes.
const Shards = shard.Count

// Row is an event in the outbox.
type Row struct {
	// RowID orders the rows of a shard. Stores set it.
	RowID int64
	// Shard is the row's shard: RowOf sets it.
	Shard int
	// Event is what will be published: with ID and Payload, without Value. A nil Payload is
	// that of a tombstone.
	Event headrace.Event
	// Attempts counts the publishes that the sink refused while it took others.
	Attempts int
	// Created is when the row was written, by the database's clock. Lists for operators have
	// none.
	Created time.Time
}

// spread counts the rows without an order key that this process has made.
var spread atomic.Uint32

// together is how many of them go to the same shard in a row. If each went to another
// one, a few events would cost the relay as many transactions.
const together = 64

// RowOf returns the row for an encoded event. Rows of an Order share a shard.
func RowOf(e headrace.Event) Row {
	if e.OrderKey == "" {
		return Row{Shard: int(spread.Add(1) / together % Shards), Event: e}
	}
	return Row{Shard: shard.Of(e.Topic + "\x00" + e.OrderKey), Event: e}
}

// Order names the rows that keep their order: those of one topic and order key.
type Order struct {
	// Topic and Key are those of the events.
	Topic string
	Key   string
}

// Block is an Order with held rows that must be published first.
type Block struct {
	Order
	// First is the RowID of the first held row. It is never Behind, so every blocked
	// Order has a row that a Poll finds or that is Parked.
	First int64
}

// Reason says why a row is held.
type Reason string

// The reasons.
const (
	// Delayed: the event asked for it. It blocks no other row.
	Delayed Reason = "delayed"
	// Backoff: the sink refused it, and it will be tried again. Rows of its Order
	// wait behind it.
	Backoff Reason = "backoff"
	// Parked: the sink refused it too often. It waits for a person to act, and the later
	// rows of its Order wait for it.
	Parked Reason = "parked"
	// Behind: an earlier row of its Order is held.
	Behind Reason = "behind"
)

// Hold makes a row held, or changes why and until when it is held.
type Hold struct {
	// Row is the row, with its Shard and RowID.
	Row Row
	// Reason is why it is held. For Delayed and Backoff, Delay is how long from now.
	Reason Reason
	Delay  time.Duration
	// Attempts is how often the sink has refused it.
	Attempts int
	// Error is the sink's error text, capped; it is shown to operators.
	Error string
}

// HeldRow is a held row.
type HeldRow struct {
	Row
	// Outbox is the name of its outbox, and Age how long ago the row was written; only Parked
	// sets them.
	Outbox string
	Age    time.Duration
	// Reason is why it is held, and Error the sink's latest error text, capped.
	Reason Reason
	// DueIn is how long until it is due; 0 or less if it is due, or if it is Parked
	// or Behind.
	DueIn time.Duration
	Error string
}

// Poll is the result of polling the outbox.
type Poll struct {
	// Shards have ready rows above their marks, or held rows that are due.
	Shards []int
	// Next is how long until the next held row is due; 0 if there is none.
	Next time.Duration
}

// TopicStatus says how many events of a topic wait in an outbox or on a line.
type TopicStatus struct {
	// Topic is their topic.
	Topic string `json:"topic"`
	// Events is how many there are; of more than MaxTopicRows in a shard, ready or held,
	// only those are counted.
	Events int64 `json:"events"`
	// Oldest is for how long the oldest has waited: since it was written, or since it was due
	// if it was delayed. 0 if none is due.
	Oldest time.Duration `json:"oldest_ns"`
	// Published says that a running process publishes the outbox, or waits for its turn.
	Published bool `json:"-"`
}

const (
	// MaxTopicRows is how many rows of each shard Topics reads of the ready ones, and of the held
	// ones.
	MaxTopicRows = 2
	// MaxRows is up to how many rows of a kind List counts for one outbox: a page that asks every few
	// seconds must not read a long one.
	MaxRows = 3_000
)

// Status says how much an outbox holds, and who publishes it. Of more than MaxRows of a kind only
// those are counted.
type Status struct {
	// Outbox is its name.
	Outbox  string `json:"outbox"`
	Ready   int64  `json:"ready"`   // can be published now
	Delayed int64  `json:"delayed"` // delayed events, and those in backoff
	Parked  int64  `json:"parked"`  // wait for a person to act
	Behind  int64  `json:"behind"`  // wait behind one of those
	// Oldest is the age of the oldest ready row: the lag of the relay; 0 if none.
	Oldest time.Duration `json:"oldest_ns"`
	// Relays is how many processes publish the outbox, and Waiting how many wait until those
	// have ended, because they have another sink. Sink identifies that of Relays; "" if
	// there is none.
	Relays  int64  `json:"relays"`
	Waiting int64  `json:"waiting"`
	Sink    string `json:"sink"`
}
