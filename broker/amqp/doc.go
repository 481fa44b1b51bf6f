// Package amqp receives from and publishes to RabbitMQ, over AMQP 0-9-1.
//
// # Nouns
//
// A [Server] is the broker. A [Topology] maps a topic to a queue, exchange and routing
// key. A [Source] delivers the messages of queues. A [Sink] publishes. A delivery is
// settled when it is acknowledged or given back. A message is returned if no queue takes
// it. Prefetch is how many deliveries are under way at once.
//
// # Rules
//
// Any delivery becomes a message. Headers become metadata: strings and byte arrays
// unchanged, numbers in decimal, times in RFC 3339, tables and arrays (x-death) as JSON
// with sorted names. Properties that are set become metadata under the names of the
// constants here; a sender's header with such a name is kept behind OwnHeaderPrefix. The
// id is Watermill's header, otherwise the property message-id.
//
// A message with neither has no id: AMQP cannot tell two deliveries of one message from
// two equal messages. The consumer makes it an undecodable dead letter, unless Config.Key
// finds a key in it, as inbox.JSON or inbox.PayloadHash do.
//
// Each delivery is settled separately, as soon as the consumer settles it; settlements
// that arrive together are sent together. When a channel ends, the broker delivers again
// what is not settled.
// A lost connection is made again, with a pause that grows to 10 s; deliveries come
// again, and those settled meanwhile come as duplicates. If a queue is missing for
// MissingGrace, its subscription ends, and the consumer with it.
//
// A pause cancels the consumer at the broker. Messages fetched before are kept for
// PauseHold, and then given back.
//
// The sink publishes persistent messages with the mandatory flag and waits for the
// confirmation of each, many at a time. A message that is returned, refused or not
// confirmed is an error. Confirmations cannot be turned off.
//
// The package changes nothing that exists at the broker, and makes nothing unless
// Topology.Declare is set.
//
// # Why not the official adapter
//
// watermill-amqp v3.0.2 treats any header that is not a string (x-death,
// x-delivery-count: so each redelivery of a quorum queue) as an error, and requeues the
// message at once, for ever. It ignores message-id, has one message in flight per
// subscription, and swallows the error of a failed transactional publish. Confirmations
// and the mandatory flag are off by default, and returned messages are not read. It opens
// a cancelled consumer again for ever. Its interfaces do not allow to fix that from
// outside, so this package uses the client library beneath it,
// github.com/rabbitmq/amqp091-go, whose own (experimental) recovery is off. Each adapter
// can read the other's messages.
//
// # Limits at the broker
//
// The protocol shows neither consumer_timeout nor a queue's delivery limit. Check reads
// them from the management API if SourceOptions.Management is set; otherwise it uses
// [Topology] and [SourceOptions], and returns an error if a necessary value is missing.
// The server-wide consumer_timeout is not available anywhere.
//
// From the same API Check reads whether the queue loses messages that the broker has
// confirmed: by max-length without reject-publish, message-ttl or expires, as an argument
// or by policy, or because it is not durable, auto-delete or exclusive. Check rejects
// such a queue unless SourceOptions.UnsafeLossy is set. Without the API it sees nothing
// of that. Subscribe always rejects streams: consumers have a priority, which only
// streams do not accept.
//
// A delivery that waits in Prefetch counts as unsettled: if handlers are slow, keep
// Prefetch small.
//
// # Caveats
//
// The order is that of the queue while there is one consumer and no redelivery. For order
// per key use Config.OrderKey, and one queue with a single active consumer.
//
// A quorum queue counts a message as delivered if it is given back or its channel ends.
// Give it a dead-letter exchange; dead-lettering by the broker is at most once unless its
// policy says otherwise.
//
// A quorum queue declared seconds before its only node was killed may have no leader: the sink
// says "not confirmed in time". `rabbitmqctl eval "ra:trigger_election({'%2F_QUEUE', node()})."`
// mends it.
//
// Prefetch counts messages, and the broker has no limit in bytes: a subscription holds up
// to Prefetch times the largest message, and the process about twice that.
//
// The client library cannot read headers that are nested deeper than 32 or have more than
// 8,192 entries in one table: it would end the connection each time. This package
// replaces them before, and the message becomes an undecodable dead letter, with the
// bytes of the headers in its metadata.
package amqp
