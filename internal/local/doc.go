// Package local delivers rows of the outbox to consumers of the same database, through
// their backlogs.
//
// # Nouns
//
// A [Line] is the part of the outbox that routes take to consumers. It has its own drain
// and locks, so that neither the sink nor its outage delays it. A handover moves a batch
// of one shard into backlogs, in one transaction.
//
// # Rules
//
// No row overtakes another of its order. A row that other transactions work on waits, as
// do those behind it, and the rest of its shard continues.
package local
