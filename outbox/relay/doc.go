// Package relay publishes the rows of the outbox through a Watermill Publisher.
//
// # Nouns
//
// A [Relay] moves rows from a [Store] to a sink, the Publisher. A batch is the rows that
// it takes from one shard in one transaction. The sink confirms or refuses a row: see
// package internal/publish, which publishes a batch. An order is a topic and an order
// key. The relay is stalled while the sink confirms nothing.
//
// # Rules
//
// The relay deletes a row after the sink confirmed it, in the transaction that holds the
// lock of its shard. If the process dies in between, or the outcome of the commit is
// unknown, it publishes the row again, with the same id, metadata and payload: at least
// once. With an OpenTelemetry SDK, traceparent names the send, so it differs between the
// two.
//
// A relay publishes the outbox of its store, and no other. While live relays of that outbox
// publish to another sink (Options.SinkID), it waits until they have ended, or have not been
// heard of for instance.Missed.
//
// The rows of an order are published one after the other, by RowID, and none is skipped:
// behind a row in backoff or parked, the later ones wait. Rows of other orders and rows
// without an order key do not wait for them.
//
// A message carries its event's order key in its context (headrace.ArrivalFrom), for
// Publishers whose broker has one: a record's key, a message group.
//
// A refused row spends an attempt only if the sink confirms other rows, or says that it is
// too large (outbox.ErrTooLarge). It is parked only
// if the sink refuses it once more after that. Otherwise it is an outage: the relay is
// stalled, and puts no row into backoff and parks none. From time to time it tries a few
// rows of each shard, until the sink confirms one.
//
// # Caveats
//
// An event's Delay takes it out of the order of its key. But if such a row is parked, the
// later rows of its order wait for it.
//
// A row is confirmed when Publish returns nil. If a Publisher returns before the broker
// has the message (AMQP without confirms), the relay deletes rows whose messages may be
// lost.
//
// A Publisher that writes into the same PostgreSQL database needs its own connections in
// addition to those of the Workers.
package relay
