// Package amqp receives from and publishes to RabbitMQ, over AMQP 0-9-1.
//
// # Nouns
//
// A [Server] is the broker. A [Topology] says which queue, exchange and routing key stand
// for a topic. A [Source] gives the messages of queues. A [Sink] publishes. A delivery is
// settled when it is acknowledged or given back. A message is returned when no queue
// takes it. Prefetch is how many deliveries are under way at once.
//
// # Rules
//
// Any delivery becomes a message. Headers become metadata: strings and byte arrays as the
// bytes that they are, numbers in decimal, times in RFC 3339, tables and arrays (x-death)
// as JSON with sorted names. Properties that are set become metadata under the names of
// the constants here; a header that a sender gave such a name is kept behind
// OwnHeaderPrefix. The id is Watermill's header, else the property message-id.
//
// A message with neither has no id: AMQP has nothing that tells two deliveries of one
// message from two messages that say the same. The consumer keeps it as an undecodable
// dead letter, unless Config.Key finds a key in it, as inbox.JSON or inbox.PayloadHash do.
//
// Each delivery is settled on its own, as soon as the consumer has; what comes together
// goes to the broker together. What is not settled when a channel ends, the broker gives
// again.
//
// A connection that is lost is made again, with a pause that grows to 10 s; deliveries
// come again, and what was settled meanwhile comes as a duplicate. A subscription whose
// queue is gone for MissingGrace ends, and the consumer with it.
//
// A pause cancels the consumer at the broker. What was fetched is kept for PauseHold, and
// then given back.
//
// The sink publishes persistent messages with the mandatory flag and waits for the
// confirmation of each, many at a time. A message that is returned, refused or not
// confirmed is an error. There is no way to do without confirmations.
//
// Nothing that exists at the broker is changed, and nothing is made unless
// Topology.Declare says so.
//
// # Why not the official adapter
//
// watermill-amqp v3.0.2 takes any header that is no string (x-death, x-delivery-count: so
// each redelivery of a quorum queue) for an error, and requeues the message at once, for
// ever. It ignores message-id, has one message in flight per subscription, and swallows
// the error of a failed transactional publish. Confirmations and the mandatory flag are
// off by default, and nobody reads what is returned. A cancelled consumer is opened again
// for ever. Its interfaces leave no room to mend that from outside, so this package uses
// the client library beneath it, github.com/rabbitmq/amqp091-go, whose own (experimental)
// recovery is off. Messages of either are read by the other.
//
// # Limits at the broker
//
// The protocol tells neither consumer_timeout nor a queue's delivery limit. Check reads
// them from the management API where SourceOptions.Management names it; else it takes what
// [Topology] and [SourceOptions] say, and its error asks where it must know. The server-wide
// consumer_timeout is told by nobody.
//
// From the same API Check reads whether the queue loses what the broker has confirmed: by
// max-length without reject-publish, message-ttl or expires, as an argument or by policy,
// or because it is not durable, auto-delete or exclusive. Such a queue is refused unless
// SourceOptions.UnsafeLossy. Without the API nothing of that is seen. Streams are refused
// by Subscribe in any case: consumers have a priority, which only streams do not take.
//
// A delivery that waits in Prefetch counts as
// unsettled: where handlers are slow, keep Prefetch small.
//
// # Caveats
//
// Order is that of the queue while there is one consumer and nothing comes again. For
// order per key use Config.OrderKey, and one queue with a single active consumer.
//
// A quorum queue counts a message that is given back, and one whose channel ends, as
// delivered. Give it a dead-letter exchange; dead-lettering by the broker is at most once
// unless its policy says otherwise.
//
// Prefetch counts messages, and the broker has no bound in bytes: a subscription holds up
// to Prefetch times the largest message, and the process about twice that.
//
// Headers that are nested deeper than 32 or have more than 8,192 entries in one table are
// more than the client library reads: it would end the connection each time. They are
// taken out before it sees them, and the message becomes an undecodable dead letter, with
// the bytes of the headers in its metadata.
package amqp
