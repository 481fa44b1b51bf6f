// Package redis is Redis Streams as a source and a sink.
//
// # Nouns
//
// A stream is a topic, and its entries are the messages. A group is the consumers that
// share a stream's entries; each entry is pending at one of them from when it was read
// until it is acknowledged. An entry's idle time is the time since its owner last beat. A
// beat sets it to zero; a claim takes an entry whose owner does not beat.
//
// # Which client
//
// go-redis itself. The official adapter, watermill-redisstream v1.4.5, cannot be made
// safe by its options: an entry without its own fields ends the subscription; it reads
// one entry at a time; it claims an entry after 60 s even if its owner still works on it,
// unless the user writes a function that knows; it sends a nacked message again at once,
// without end and before all others; removing an idle consumer from the group can drop
// entries that it got meanwhile. Each adapter reads the other's entries: the fields
// _watermill_message_uuid, payload and metadata, the last in msgpack.
//
// # The source
//
// One reader takes up to InFlight entries with XREADGROUP, and hands them out before the
// first is acknowledged. Entries acknowledged at about the same time go in one XACK (and
// XDEL, in one MULTI, with Delete). Every third of ClaimAfter the source beats its
// entries with XCLAIM … JUSTID. XAUTOCLAIM takes entries that were idle for ClaimAfter:
// those of a dead process. A nacked entry gets the idle time with which it is claimed
// after NackDelay, by any process; so does, with no delay, an unsettled entry when a
// subscription ends or its topic is paused. If a source was frozen for longer than
// ClaimAfter, other sources have its entries; it continues to work on them, and the inbox
// prevents double effects.
//
// The id of a message is Watermill's UUID, if its sender set one, otherwise none, and the
// coordinates decide: the stream and the entry's id, which contains the server's time, so
// that a stream that was made again does not repeat it. Senders that choose their own ids
// (XADD with an id) must not repeat them after a stream was deleted.
//
// Reading never fails. The field payload is the payload, and other fields are metadata.
// An entry with neither payload nor a UUID has the JSON object of its fields as payload;
// with SourceOptions.Scalars numbers, true, false and null in it are no strings.
// Metadata that is not msgpack is kept unchanged. A repeated field of metadata has a line
// for each value. If payload, metadata or the UUID is repeated, the message is
// unreadable: its payload is a JSON list of all fields. go-redis shows only the last
// value of a field, so each batch with entries that are not Watermill's costs one more
// request.
//
// A stream that is trimmed (XADD … MAXLEN) may lose entries that the group has not read.
// The source compares the server's counts of added and read entries, logs how many are
// missing, counts them (headrace.redis.lost), and sets the group's count right with XGROUP
// SETID, so that one process says it once.
//
// A missing group, because the stream is new, was deleted, or the server lost it, is made
// to read from Start: entries may then come again and are duplicates for the inbox.
//
// Check rejects a server that may evict streams (maxmemory-policy allkeys-…), that keeps
// nothing on disk (appendonly no), or that is older than version 7. Redis has no limit on
// the time and number of deliveries, and does not report how long entries stay: set
// SourceOptions.Retention. Entries are removed only if Delete is set.
//
// # Permissions
//
// On the streams: +info +multi +exec +eval +evalsha +xack +xadd +xautoclaim +xclaim +xdel
// +xgroup +xinfo +xlen +xpending +xrange +xreadgroup.
//
// # The sink
//
// Publish adds all messages of a call in one MULTI: all are added or none. It returns nil
// when the server has done it. They are on disk then with appendfsync always, and within
// a second with everysec; a failover to a replica may lose confirmed messages.
//
// # Caveats
//
// A single source hands out entries in the order of the stream, unless one is given back.
// Several processes share a stream without order.
package redis
