// Package drain works off the rows of a line that is divided into shards: the
// outbox by the relay, the backlog by a consumer.
//
// # Nouns
//
// A [Line] is the work list. Its Poll is a cheap look at all shards, its Work processes
// one batch of one shard. A mark is the RowID up to which a shard has been read. The
// bottom is the rows below the mark. A [Drain] decides when to poll and which shard to
// work on next.
//
// # Rules
//
// Shards are visited in turn: one with more rows goes to the end of the queue. One worker
// of this process at a time works on a shard. Work itself makes sure that only one
// process does, and otherwise returns Skipped.
//
// One goroutine polls. The time between polls is at least MinPoll and grows up to MaxPoll
// while they find nothing. A poll comes at once after a wake-up and when the next row is
// due. After a visit that did nothing (another process has the shard, or was faster) the
// shard rests, longer each time.
//
// Marks only save time: without them, rows that a long snapshot keeps alive after their
// deletion would be read again and again. A transaction with a lower RowID may commit
// later, so the bottom is read again at short intervals. If rows keep an order, a store
// returns rows that committed late before later rows of that order, even for a mark
// above: it may begin to read below.
//
// After a failing Poll, polling stops for a growing pause; after a failing Work, only its
// shard does. The drain reports the first failure, and the moment when everything works
// again.
//
// # Caveats
//
// Nothing is stored here. Marks are lost with the process. A wrong mark only causes a
// delay of BottomEvery.
package drain
