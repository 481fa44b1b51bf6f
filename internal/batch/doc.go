// Package batch runs messages in transactions. Only this package claims, runs, records
// and commits messages: live deliveries, rows of the backlog, and the effects of leased
// work differ only in how they are claimed.
//
//	claim    the rows of the messages; duplicates are settled
//	run      the handlers, in the order of their order keys
//	record   failures, and the rows that leave the backlog
//	commit   effects, events and records, in one COMMIT
//	settle   acknowledge
//
// # Nouns
//
// A [Processor] processes parts: tasks that share a transaction. An attempt is one
// transaction for a part. An execution runs the handlers in it. Trouble says why an
// attempt was not committed; package judge decides what to do then.
//
// # Rules
//
// While nothing fails, a transaction has no savepoints. After the first failure it is
// rolled back, and the part is claimed again with a savepoint after every few messages: as
// many as cost least at the handler's failure rate. After a later failure only the
// messages since the last savepoint run again. Failures are recorded at the end of the
// same transaction.
//
// If a transaction is rolled back, the next one records the failures that it saw, without
// running those messages again.
//
// Rows and statements that a handler left open are closed before the next one runs. If a
// handler fails before its first statement, there is nothing to undo.
//
// Before COMMIT the numbers must add up: messages applied plus failures recorded are the
// messages that were claimed.
//
// # Caveats
//
// A handler that ignores its context cannot be stopped, only abandoned: its connection is
// cut, and its Tx returns errors.
package batch
