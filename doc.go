// Package headrace contains the basic types of a consumer framework for message queues:
// deliveries, messages, events and the transaction of a handler.
//
// # Nouns
//
// A [Delivery] is one arrival of a message, with its bytes as they came and its
// [Coordinates] on the broker. A [Message] is a delivery with a decoded body. A handler
// gets a message and a [Tx], the transaction that contains its effects and their record.
// A handler publishes an [Event]: it is written as a row of the outbox in that same
// transaction. [Effects] is a piece of work done in a transaction.
//
// # Rules
//
// Delivery is at least once; effects are applied once inside one database. The inbox row
// of a message, the effects of its handler and its events are committed together or not
// at all. The message is acknowledged to the broker only after that commit.
//
// A handler never ends its transaction. [Tx] has no Commit and no Rollback, and rejects
// statements that begin or end a transaction or set a savepoint; use [Tx.Nested] for a
// part that may fail separately.
//
// # Caveats
//
// Effects outside of the transaction (an HTTP call, another database) are not covered:
// they may happen again when the message is delivered again.
//
// The packages: consumer runs handlers; inbox, outbox, backlog, dlq and retry are the
// parts, each also useful alone; store/postgres and store/sqlite store the rows.
package headrace
