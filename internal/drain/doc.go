// Package drain works off the rows of a line that is divided into shards: the
// outbox by the relay, the backlog by a consumer.
//
// # Nouns
//
// A [Line] is what is drained. Its Poll is a cheap look at all shards, its Work one
// batch of one shard. A mark is the RowID up to which a shard has been read. The
// bottom is what stands below the mark. A [Drain] decides when to poll and which
// shard is worked on next.
//
// # Rules
//
// Shards are visited in turn: one with more to do goes to the end of the queue. A
// shard is worked on by one worker of this process at a time; Work itself sees to
// it that it is one process at a time, and says Skipped otherwise.
//
// One goroutine polls. Polls stand at least MinPoll apart, grow further apart
// while nothing is found, up to MaxPoll, and come at once after a wake-up and when
// the next row is due. A visit that brought nothing (another process holds the
// shard, or was faster) makes the shard rest, longer each time.
//
// Marks only save time: rows that a long snapshot keeps alive after their
// deletion are not walked over again and again. A transaction that took a lower
// RowID may commit later, so the bottom is read again at short intervals. Where rows
// keep an order, a store gives out what committed late before what was written behind
// it, also to a reader above the mark: it may begin to read below.
//
// A failing Poll stops the polling for a growing pause, a failing Work its shard
// only. The first failure is reported, and the moment when all is well again.
//
// # Caveats
//
// Nothing is stored here. Marks die with the process, and may be wrong without
// harm other than BottomEvery of delay.
package drain
