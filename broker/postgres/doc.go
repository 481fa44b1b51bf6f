// Package postgres is a broker in tables of a PostgreSQL database, for programs that have
// no other one.
//
//	err := postgres.Create(ctx, db, "public") // once, as a migration
//	source, err := postgres.NewSource(postgres.SourceOptions{DB: db, Group: "billing"})
//	sink, err := postgres.NewSink(postgres.SinkOptions{DB: db})
//
// A consumer of the same database as the outbox needs no broker at all: see
// consumer.Config.Routes, which is cheaper than this.
//
// # Nouns
//
//   - A group is a consumer; it has a queue for each topic that it subscribed to, made by
//     the first [Source.Subscribe] or by Source.SubscribeInitialize. Processes of one group share it.
//   - A message is a row of headrace_queue, one for each group, until it is acknowledged.
//   - A lease is how long a process that has taken a message may be silent.
//
// # What is promised
//
// Publish returns nil once the messages of the call are committed, all or none of them,
// in the queue of each group. A topic without a group is an error (ErrNoGroup), since the
// message would be nowhere.
//
// A message is given until it was acknowledged: at least once. While it is held its lease
// is extended, three times in each; a message of a process that died comes again when the
// lease is over, one that was given back after NackDelay. Acknowledgements are written
// together, as many as there are.
//
// One process is given the messages of a queue in the order of their rows; what commits
// late comes late, and is never skipped. Several processes have no order among them. The
// order key of an event travels along. Ids, order keys and metadata come as they were
// given; what PostgreSQL refuses as text stands in the tables as "base64:…".
//
// # Why not watermill-sql
//
// The official adapter (v3.1.0) keeps a position for each group in a log. To skip nobody
// who commits late it waits for the oldest transaction of the whole cluster, so that one
// open transaction in any database stops every topic, and after dump and restore most
// rows are never seen. One process of a group works at a time, with its transaction open
// while the handler runs: a nack does not roll back, a missed deadline commits a part.
// Nothing is ever deleted, and each poll costs as much as the table is long. Its Publisher
// fails on no messages and on ids over 36 characters, and topics that agree in 53 bytes
// share a table. None of that can be mended from outside, so that these tables are others;
// programs with watermill-sql do not read them.
//
// # Caveats
//
// What a server forgets in a crash of takings and acknowledgements comes again: these
// commits do not wait for the disk, those of Publish do.
//
// An idle subscription asks every Poll. A row is written three times, so autovacuum has
// to keep up with the rate of messages. While somebody's snapshot keeps dead rows, a queue
// is read from where its subscription was, and from the bottom a tenth of the time: what
// was given back or committed late may then come 5 s later.
//
// A Window counts messages, not bytes: a subscription may hold Window times the largest
// payload, and reads as much at once.
//
// Where the network goes silent, calls end by their timeouts and the connection is closed
// under the driver, since lib/pq waits for as long as TCP does. What waits even then, in
// lib/pq's handshake or to send much, is left behind until the driver gives it up, with its
// place in the pool: put connect_timeout=5 into the DSN, or give DB the one of
// store/postgres' Store.DB, whose connections have such bounds of their own.
//
// Source and Sink need connections of their own beside those of the store: a Source two
// for each subscription, a Sink one for each Publish at a time.
package postgres
