// Package redis is Redis Streams as a source and a sink.
//
// # Nouns
//
// A stream is a topic, and its entries are the messages. A group is the consumers that
// share a stream's entries; each entry is pending at one of them from when it was read
// until it is acknowledged. An entry's idle time is how long its owner has said nothing
// of it. A beat sets that back to zero; a claim takes an entry whose owner does not beat.
//
// # Which client
//
// go-redis itself. The official adapter, watermill-redisstream v1.4.5, cannot be made safe
// by its options: an entry without its own fields ends the subscription; it reads one
// entry at a time; it claims after 60 s what its owner is still at work on, unless the
// user writes a function that knows; a nacked message is sent again at once, without end
// and in front of all others; removing an idle consumer from the group can drop entries
// that it was given meanwhile. What it writes is read here and what is written here it
// reads: the fields _watermill_message_uuid, payload and metadata, the last in msgpack.
//
// # The source
//
// One reader takes up to InFlight entries with XREADGROUP, and hands them out before the
// first is acknowledged. What is acknowledged goes in one XACK with what was acknowledged
// meanwhile (and XDEL, in one MULTI, with Delete). Every third of ClaimAfter the entries in
// work are beaten with XCLAIM … JUSTID. XAUTOCLAIM takes what was idle for ClaimAfter: the
// entries of a process that died. A nacked entry is left with the idle time that makes
// it claimed after NackDelay, by whichever process; so is, at once, what is not settled
// when a subscription ends or its topic is paused. A source that was stopped for longer
// than ClaimAfter finds its entries at others, works on, and the inbox keeps the effects
// apart.
//
// The id of a message is Watermill's UUID, where its sender set one, else none, and the
// coordinates decide: the stream and the entry's id, which holds the server's time, so that
// a stream made anew does not repeat it. Senders that choose ids of their own (XADD with an
// id) must not do so again after a stream was deleted.
//
// Reading never fails. The field payload is the payload, and other fields are metadata. An
// entry that has neither payload nor a UUID has the JSON object of its fields as payload.
// Metadata that are no msgpack are kept as they are. A repeated field of metadata has a
// line for each value. Where payload, metadata or the UUID is repeated, the message is
// unreadable: its payload is a JSON list of all fields. go-redis shows the last value of a
// field alone, so each batch with entries that are not Watermill's costs one more request.
//
// A group that is not there, because the stream is new, was deleted, or the server forgot
// it, is made from Start on: entries may then come again and are duplicates for the inbox.
//
// Check refuses a server that may evict streams (maxmemory-policy allkeys-…), that keeps
// nothing on disk (appendonly no), or that is older than version 7. Redis has no limit on
// the time and number of deliveries, and does not tell for how long entries stay: say it
// with SourceOptions.Retention. Nothing is removed unless Delete says so.
//
// # The sink
//
// Publish adds all messages of a call in one MULTI: all are added or none. It returns nil
// when the server has done it. That is on disk with appendfsync always, and within a second
// with everysec; a failover to a replica may lose what was confirmed.
//
// # Caveats
//
// The order of a stream is that in which a single source hands out its entries, as long as
// none is given back. Several processes share a stream without order.
package redis
