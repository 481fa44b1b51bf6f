// Package postgres is a broker in tables of a PostgreSQL database, for programs without
// another broker.
//
//	err := postgres.Create(ctx, db, "public") // once, as a migration
//	source, err := postgres.NewSource(postgres.SourceOptions{DB: db, Group: "billing"})
//	sink, err := postgres.NewSink(postgres.SinkOptions{DB: db})
//
// A consumer of the same database as the outbox needs no broker at all: see
// consumer.Local, which is cheaper than this.
//
// # Nouns
//
//   - A group is a consumer; it has a queue for each topic of its subscriptions, made by
//     the first [Source.Subscribe] or by Source.SubscribeInitialize. Processes of one group share it.
//   - A message is a row of headrace_queue, one for each group, until it is acknowledged.
//   - A lease is how long a process with a message may give no sign of life.
//
// # Guarantees
//
// Publish returns nil when the messages of the call are committed, all or none of them,
// in the queue of each group. A topic without a group is an error (ErrNoGroup), since no
// queue would get the message.
//
// A message is delivered until it was acknowledged: at least once. While it is held its
// lease is extended, three times per lease. A message of a dead process comes again when
// the lease is over, one that was given back after NackDelay. Acknowledgements are
// written together, at most 50 ms after the first.
//
// One process gets the messages of a queue in the order of their rows; those that commit
// late come late, and are never skipped. There is no order among several processes. The
// order key of an event is sent with it. Ids, order keys and metadata arrive unchanged;
// text that PostgreSQL rejects is in the tables as "base64:…".
//
// # Why not watermill-sql
//
// The official adapter (v3.1.0) keeps a position for each group in a log. To skip no late
// commit it waits for the oldest transaction of the whole cluster, so that one open
// transaction in any database stops every topic, and after dump and restore most rows are
// never seen. One process of a group works at a time, with its transaction open while the
// handler runs: a nack does not roll back, a missed deadline commits a part. It never
// deletes rows, and each poll costs time proportional to the table. Its Publisher fails
// for an empty call and for ids over 36 characters, and topics that agree in 53 bytes
// share a table. None of that can be fixed from outside, so these tables are different;
// programs with watermill-sql do not read them.
//
// # Caveats
//
// Commits of takings and acknowledgements do not wait for the disk; those of Publish do.
// After a crash of the server, messages of lost acknowledgements come again.
//
// An idle subscription polls every Poll. A row is written three times, so autovacuum must
// keep up with the rate of messages. While a snapshot keeps dead rows, a queue is read
// from the subscription's mark, and from the bottom a tenth of the time: messages that
// were given back or committed late may then come 5 s later.
//
// If the network drops all packets, calls end by their timeouts and the connection is
// closed under the driver, since lib/pq waits as long as TCP does. A call that waits even
// then, in lib/pq's handshake or while sending much data, is abandoned until the driver
// gives it up, with its place in the pool: put connect_timeout=5 into the DSN, or use
// store/postgres' Store.DB as DB, whose connections have their own timeouts.
//
// Source and Sink need their own connections in addition to those of the store: a Source
// two for each subscription, a Sink one for each concurrent Publish.
package postgres
