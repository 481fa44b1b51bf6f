// Package local delivers events of the outbox to the local handlers of one consumer,
// through its backlog.
//
// # Nouns
//
// A [Line] is the part of the outbox that waits for one consumer: see outbox.LineOf. It is
// worked off by the processes that run the consumer, which divide its shards by locks. A
// handover moves a batch of one shard into the backlog, in one transaction.
//
// # Rules
//
// The consumer subscribes to the topics of its handlers before it works. An event of a
// topic without a subscription is swept onto the lines of those that subscribe to it.
//
// No row overtakes another of its order. A row that other transactions work on waits, as
// do those behind it, and the rest of its shard continues. So does a row whose topic has no
// handler in this process: another process may have one.
package local
