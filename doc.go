// Package headrace holds the words of a consumer framework for message queues:
// what a delivery is, what a handler receives, and what it may do.
//
// # Nouns
//
// A [Delivery] is one arrival of a message, with its bytes as they came and its
// [Coordinates] on the broker. A [Message] is a delivery whose body has been
// decoded. A handler is given a message and a [Tx], the transaction that its
// effects and the record of them share. An [Event] is what a handler publishes:
// it is written as a row of the outbox in that same transaction. [Effects] is a
// piece of work done in a transaction.
//
// # Rules
//
// Delivery is at least once; effects are applied once inside one database. The
// inbox row of a message, the effects of its handler and the events it publishes
// are committed together or not at all, and the broker is acknowledged after that
// commit and never before.
//
// A handler never ends its transaction. [Tx] has no Commit and no Rollback, and
// refuses statements that begin or end a transaction or set a savepoint; use
// [Tx.Nested] for a part that may fail on its own.
//
// # Caveats
//
// What a handler does outside its transaction (an HTTP call, another database)
// is not covered: it may happen again when the message is delivered again.
//
// The packages: consumer runs handlers; inbox, outbox, backlog, dlq and retry are
// the parts and each useful alone; store/postgres and store/sqlite keep the rows.
package headrace
