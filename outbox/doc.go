// Package outbox writes events into the caller's transaction, to be published after
// its commit.
//
// # Nouns
//
// A [Row] is an event in the outbox. [Outbox] writes rows for callers that have their own
// transaction; handlers use headrace.Tx.Publish instead. The relay (package outbox/relay)
// publishes rows and deletes them. An [Order] is a topic and an order key. A held row,
// which is not ready, has a [Reason].
//
// # Rules
//
// An event and the change that it describes are committed together or not at all. Publish
// therefore rejects a *sql.DB, a *sql.Conn and other values that begin transactions but
// are not in one: there the event would be committed alone, even if the change is not.
//
// Rows of an order are published by RowID, which the database assigns when the row is
// written. If several transactions write to one order, each first locks the entity of the
// order key (SELECT … FOR UPDATE).
//
// After the commit, [Outbox.Wake] wakes the relay of this process. Without it, the relay
// finds the rows with its next poll, within a second.
//
// A [Publisher] writes messages published through Watermill (cqrs.EventBus, a handler's
// own publisher), in the transaction in each message's context ([WithTx]).
//
// An outbox has a name, that of its store's Options.Outbox. Rows are written to the outbox
// of the store and published by relays of that outbox, to one sink at a time: see [SinkID]. It
// belongs to the consumers that publish it first: see [Relays].
//
// # Caveats
//
// Events are published at least once, each time under the same id; consumers of this
// framework drop duplicates.
//
// Publish cannot look into a value that only wraps ExecContext: the caller makes sure
// that it is in a transaction.
package outbox
