// Package backlog is the durable work list of a consumer: retries, redrives, messages that
// were taken in, local delivery, and leased work.
//
// # Nouns
//
// An [Item] is a row: a message for one handler. Its status is ready, delayed (its time
// has not come), blocked (an earlier message of its strict order key waits), leasable or
// leased. Its id never changes. Its place orders the ready rows of a shard; the store
// draws a new one each time that the row becomes ready.
//
// # Rules
//
// A message is in the backlog if and only if its inbox row is waiting; both change in one
// commit. One worker at a time works off a shard, over all processes. Rows without an
// order key are spread over the shards.
//
// A poll never walks over rows that are not ready: those are in other indexes.
//
// In strict order a row runs when all earlier rows of its key are gone, or run before it
// in the same transaction ([Order]). Only the worker that has the shard blocks rows. The
// transaction that ends a row releases the rows that it blocked.
//
// # Caveats
//
// Without strict order the backlog keeps no order.
package backlog
