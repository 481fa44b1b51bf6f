// Package kafka connects a consumer and the relay to Apache Kafka.
//
// # Nouns
//
// A [Source] is a member of a consumer group: it hands over the records of the partitions
// that the group gives it. The window of a partition is what it has handed over beyond the
// lowest record that is not settled; the position is the offset of that record, and what is
// committed to the group. An incarnation of a topic is its topic id, which a topic that is
// deleted and made again does not share with its predecessor. A [Sink] publishes.
//
// # Rules
//
// Any record becomes a message: a nil value a nil payload, a header's bytes the value of a
// metadata entry as they are, an empty or absent id the empty UUID. Of headers with one
// name the last counts, as for Kafka's lastHeader; the others are kept as name#1, name#2…;
// a key that is no text is an entry as well ([KeyBase64]).
// Watermill's own header for the UUID is read and written, so that programs with Watermill's
// adapter and with this one read each other's messages. Where a record has none, its
// coordinates are its id: topic@incarnation, partition, offset. Its order key is the
// record's key.
//
// Many records of a partition are in flight at once, handed over in their order. The offset
// is committed only up to the lowest record that is not settled, so what a crash finds
// unsettled comes again, and with it what was settled after it. A record that is given back
// is handed over again in its place after NackPause, before any later one that was not
// handed over yet.
//
// A partition that the group takes away is handed over no longer; what was handed over may
// finish, and what has not after a third of RebalanceTimeout is given back (its context
// ends), then its position is committed and the partition goes. Acknowledgements that come
// later change nothing. The position of a partition that was lost, because the group took
// this member for dead, is not committed: it is somebody else's.
//
// A topic that is deleted and made again while a Source reads it is gone on with from its
// first record. franz-go believes it after six refused fetches, up to a second apart, and
// the Source joins the group anew a second later; where the topic is not made again within
// half a minute, its subscription ends. A group knows offsets by the topic's
// name, and a commit that comes late counts for the new topic; so each commit says the
// incarnation, and an offset of another one does not count.
//
// Only what committed transactions wrote is read, and a group without an offset begins at
// the oldest record. The Sink asks all in-sync replicas and is idempotent; Publish returns
// nil once they have every message, and a [PublishError] that says which failed otherwise.
// What weakens one of these is refused by its name, unless an option called Unsafe… is set.
//
// # Why not the adapter of Watermill
//
// watermill-kafka v3.1.2 has one message of a partition in flight, so that a consumer has
// nothing to commit together; its message context survives the loss of the partition; an
// error of its unmarshaler ends the session and reads the same offset again, for ever; it
// gives a message back every 100 ms, for ever; its coordinates have no incarnation. None of
// this can be changed from outside. It stands on IBM/sarama, where a rebalance ends the
// session of every member and partition (the protocol called eager), what a topic's id was
// when a record was fetched is not to be learnt, and acknowledgement by one replica and a
// start at the newest record are defaults. This package stands on twmb/franz-go: partitions
// move one by one (cooperative-sticky) while the others go on, fetches name the topic id
// that they mean, produced records fail or succeed one by one, idempotence and all in-sync
// replicas are defaults, and it brings three dependencies instead of two dozen.
//
// # Caveats
//
// Order holds for the records of one key within a partition, as long as the number of
// partitions stays what it is: Kafka spreads keys anew when it grows. Keys are hashed as
// Java's client does (murmur2); sarama, and so Watermill's adapter, hashes otherwise.
//
// The coordinates of brokers below version 3.1 carry no incarnation: do not delete and
// make a topic again there.
//
// Kafka counts retention from a record's timestamp, which its producer sets: one that lies
// in the future is kept longer than Retention says. The topic's message.timestamp.type
// LogAppendTime ends that.
//
// A transaction's marker takes an offset of its own, which nobody settles: the lag that
// Kafka's tools show of a transactional topic may stay at one.
//
// Records that the topic loses before the group has read them, to its retention or to
// DeleteRecords, are gone; the log tells of the gap.
//
// A batch that the broker cannot give whole (a wrong checksum, more than 1 GiB when
// decompressed) holds no record that could be kept. It ends the subscription with an
// error in the log.
package kafka
