// Package kafka connects a consumer and the relay to Apache Kafka.
//
// # Nouns
//
// A [Source] is a member of a consumer group: it hands over the records of the partitions
// that the group assigns to it. The window of a partition is the records handed over from
// the lowest unsettled one on. The position is the offset of that record; it is committed
// to the group. An incarnation of a topic is its topic id: a topic that is deleted and
// made again gets another one. A [Sink] publishes.
//
// # Rules
//
// Any record becomes a message: a nil value a nil payload, a header's bytes the unchanged
// value of a metadata entry, an empty or absent id the empty UUID. Of headers with one
// name the last is used, as by Kafka's lastHeader; the others are kept as name#1,
// name#2…; a key that is not text is also an entry ([KeyBase64]). Watermill's own header
// for the UUID is read and written, so that programs with Watermill's adapter and with
// this one read each other's messages. If a record has none, its coordinates are its id:
// topic@incarnation, partition, offset. Its order key is the record's key.
//
// Many records of a partition are in flight at once, handed over in their order. The
// offset is committed only up to the lowest unsettled record, so after a crash the
// unsettled records come again, and those settled after them. A record that is given back
// is handed over again in its place after NackPause, before any later one that was not
// handed over yet.
//
// When the group revokes a partition, no more of its records are handed over. Those
// handed over may finish; those unfinished after a third of RebalanceTimeout are given
// back (their context ends). Then its position is committed and the partition is
// released. Later acknowledgements have no effect. If a partition was lost, because the
// group took this member for dead, its position is not committed: another member has it.
//
// If a topic is deleted and made again while a Source reads it, reading continues with
// its first record. franz-go accepts that after six refused fetches, up to a second
// apart, and the Source joins the group again a second later. If the topic is not made
// again within half a minute, its subscription ends. A group stores offsets by the
// topic's name, and a late commit would count for the new topic; so each commit contains
// the incarnation, and an offset of another one is ignored.
//
// Only records of committed transactions are read, and a group without an offset begins
// at the oldest record. The Sink requires all in-sync replicas and is idempotent; Publish
// returns nil when they have every message, and otherwise a [PublishError] that says
// which failed. An option that weakens one of these is an error that names it, unless an
// option called Unsafe… is set.
//
// # Why not the adapter of Watermill
//
// watermill-kafka v3.1.2 has one message of a partition in flight, so that a consumer
// cannot commit several together; its message context does not end when the partition is
// lost; an error of its unmarshaler ends the session and reads the same offset again, for
// ever; it gives a message back every 100 ms, for ever; its coordinates have no
// incarnation. None of this can be changed from outside. It uses IBM/sarama, where a
// rebalance ends the session of every member and partition (the eager protocol), the
// topic id of a fetched record is unavailable, and acknowledgement by one replica and a
// start at the newest record are defaults. This package uses twmb/franz-go: partitions
// move one by one (cooperative-sticky) while the others continue, fetches name their
// topic id, produced records fail or succeed one by one, idempotence and all in-sync
// replicas are defaults, and it has three dependencies instead of two dozen.
//
// # What a group cannot do here
//
// A subscription reads one topic: kgo.ConsumeRegex is refused, since a handler, its limits
// and its position belong to a topic. Register a handler for each in a loop, and start the
// program again for a new one.
//
// Static membership (kgo.InstanceID) is refused: each subscription is a member of its own,
// and of two members with one id the group ends the first. It is to spare a group two
// rebalances when a process starts again, and there is little to spare: partitions move one
// by one while the others are read, a Source that is closed leaves at once, and a process
// that is killed is missed after SessionTimeout.
//
// # Caveats
//
// Order holds for the records of one key within a partition, as long as the number of
// partitions does not change: Kafka then assigns keys differently. Keys are hashed as by
// Java's client (murmur2); sarama, and so Watermill's adapter, uses another hash.
//
// The coordinates of brokers below version 3.1 contain no incarnation: do not delete a
// topic and make it again there.
//
// Kafka counts retention from a record's timestamp, which its producer sets: a record
// with a time in the future is kept longer than Retention. Set the topic's
// message.timestamp.type to LogAppendTime to prevent that.
//
// A transaction's marker has an offset of its own, which is never settled: Kafka's tools
// may show a lag of one for a transactional topic.
//
// Records that the topic loses before the group has read them, by retention or
// DeleteRecords, are gone; the gap is logged.
//
// If the broker cannot return a complete batch (a wrong checksum, more than 1 GiB when
// decompressed), none of its records can be kept. It ends the subscription with an error
// in the log.
package kafka
