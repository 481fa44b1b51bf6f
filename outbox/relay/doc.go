// Package relay publishes the rows of the outbox through a Watermill Publisher.
//
// # Nouns
//
// A [Relay] takes rows from a [Store] to a sink, the Publisher. A batch is what it
// takes from one shard in one transaction. A row is confirmed when Publish returned
// nil for it, refused when Publish of that row alone returned an error or did not
// return in time. An order is a topic and an order key. A round is the publishing
// of a batch. The relay is stalled while the sink confirms nothing.
//
// # Rules
//
// A row is deleted after the sink confirmed it, in the transaction that holds the
// lock of its shard. Where the process dies in between, or the outcome of the
// commit is unknown, the row is published again, with the same id, metadata and
// payload: at least once. With an OpenTelemetry SDK, traceparent names the send, and so
// differs from one time to the next.
//
// The rows of an order are published one after the other, by RowID, and none is
// skipped: behind one that is put off or parked, the later ones wait. Rows of other
// orders and rows without an order key go beside them.
//
// Several messages are given to one Publish where they have the same topic and no
// order in common. Where that fails nobody knows which of them it was, and each is
// published again alone.
//
// A message carries its event's order key in its context (headrace.ArrivalFrom), where a
// Publisher finds it whose broker has such a thing: a record's key, a message group.
//
// A refused row spends an attempt only if the sink confirmed another row since the
// round began, or since it refused this one in the round before. It is parked only
// if it is refused once more after that confirmation. Otherwise it is an outage: nothing is put off or parked, the relay is
// stalled, and tries a few rows of each shard now and then, until one is confirmed.
//
// A Publish that does not return is left behind after PublishTimeout, and counted.
// Once there are MaxStuck, the relay stalls instead of calling again.
//
// # Caveats
//
// An event's Delay puts it outside of the order of its key. Once such a row is
// parked, though, the later rows of its order wait for it.
//
// The confirmation is what Publish says. A Publisher that returns before the broker
// has the message (AMQP without confirms) makes the relay delete what may be lost.
//
// A Publisher that writes into the same PostgreSQL database needs connections of
// its own beside the Workers'.
package relay
