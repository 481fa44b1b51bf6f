// Package outbox writes events into the caller's transaction, to be published after
// its commit.
//
// # Nouns
//
// A [Row] is an event in the outbox. [Outbox] writes rows for callers that have a
// transaction of their own; handlers use headrace.Tx.Publish instead. The relay
// (package outbox/relay) publishes rows and deletes them. An [Order] is a topic and
// an order key; a row that is held off the ready line has a [Reason].
//
// # Rules
//
// An event and the change that it tells of are committed together or not at all.
// Publish therefore refuses a *sql.DB, a *sql.Conn and whatever else begins
// transactions without being in one: there the event would be committed alone,
// whatever became of the change.
//
// Rows of an order are published by RowID, which is drawn when the row is written.
// Writers in several transactions that want one order lock what the order key
// stands for (SELECT … FOR UPDATE) before they publish.
//
// The relay of this process is woken by [Outbox.Wake] after the commit; without it
// the rows are found by its next look, within a second.
//
// A [Publisher] writes what is published through Watermill (cqrs.EventBus, a handler's
// own publisher), in the transaction that each message's context carries ([WithTx]).
//
// # Caveats
//
// Events are published at least once, each time under the same id; consumers of
// this framework drop the repetition.
//
// A value that only wraps ExecContext cannot be looked into: whoever passes one
// sees to it that it is in a transaction.
package outbox
