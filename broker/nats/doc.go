// Package nats connects consumers and the outbox to NATS JetStream.
//
//	source, err := nats.NewSource(nats.SourceOptions{URL: "nats://127.0.0.1:4222", Durable: "billing"})
//	sink, err := nats.NewSink(nats.SinkOptions{URL: "nats://127.0.0.1:4222"})
//	c, err := consumer.New("billing", st, consumer.Config{Source: source, Sink: sink})
//
// # Nouns
//
//   - A topic is a subject: "orders.paid". To subscribe, it may have wildcards. A stream
//     made by the operator has the subject; see Provision for small programs and tests.
//   - A [Source] has one durable pull consumer on the server for each topic, named after
//     SourceOptions.Durable and the topic. Processes with one Durable share its messages.
//   - The window is how many messages, and of how many bytes, a subscription holds:
//     requested, handed over, and not yet acknowledged.
//   - A [Sink] publishes into streams.
//
// # Guarantees
//
// Every message of the stream is delivered until it was acknowledged, and the server has
// confirmed the acknowledgement: at least once. The position of a message is its sequence
// and the time at which the stream stored it, so that a stream which was removed and made
// again has other positions. A message's id is Watermill's header, otherwise Nats-Msg-Id,
// otherwise none, and then the position is its key.
//
// While a message is held, the Source reports progress to the server (InProgress), three
// times within AckWait, however long the handler takes. A message that is given back
// stays away for NackDelay.
//
// Messages come in the order of the stream, except redelivered ones. Across processes
// there is no order, unless MaxAckPending is 1. The order key of an event is sent with it
// (header Headrace-Order-Key), and is the order key of its delivery.
//
// Publish returns nil when the stream has stored all messages. An error says that at
// least one of them may not be stored; others may be. Within the stream's duplicate
// window the server removes duplicates by their Nats-Msg-Id, which is made of the id and
// everything else but the trace context; after it, the inbox of the consumer does. If the
// stream reports a duplicate, but no longer has the message, it is stored again.
//
// # Limits
//
// Check rejects a consumer on the server whose AckPolicy is not explicit, whose AckWait
// (or BackOff) is below a second, or whose MaxDeliver is below the handler's demand: the
// server then silently skips the message; or that is HeadersOnly. Streams that keep their
// messages in memory are rejected without UnsafeMemory, and streams that do not confirm
// (NoAck) always. Streams that remove unhandled messages are rejected without
// UnsafeDiscard. The Sink then also rejects a stream of kind interest without a consumer
// for the subject, since it confirms messages and stores none.
//
// NATS drops requests that the credentials do not permit, without an answer. Check and
// Subscribe test whether they may request messages and acknowledge them; later requests
// and acknowledgements without an answer are logged once.
//
// [Source.Retention] is the stream's MaxAge if SourceOptions.Stream is set.
//
// # Permissions
//
// To subscribe: publish to $JS.API.STREAM.NAMES (without the option Stream),
// $JS.API.STREAM.INFO.STREAM, $JS.API.CONSUMER.INFO.STREAM.CONSUMER,
// $JS.API.CONSUMER.CREATE.STREAM.CONSUMER.SUBJECT (where the consumer is not made already),
// $JS.API.CONSUMER.MSG.NEXT.STREAM.CONSUMER and $JS.ACK.STREAM.CONSUMER.>.
//
// To publish: the subject, $JS.API.STREAM.NAMES, $JS.API.STREAM.INFO.STREAM,
// $JS.API.CONSUMER.LIST.STREAM for streams of the kind interest, and
// $JS.API.STREAM.MSG.GET.STREAM ($JS.API.DIRECT.GET.STREAM with AllowDirect), without which
// some repetitions are stored again.
//
// Both: subscribe to _INBOX.>. Provision needs $JS.API.STREAM.CREATE.*.
//
// # Headers
//
// A header with several values becomes one metadata entry with a line for each. Text that
// is not UTF-8 becomes "base64:" and its standard base64. The client library drops a
// header block that cannot be read at all; the payload comes without it. Metadata that a
// header cannot contain unchanged (line breaks, spaces at its ends, names that are not
// tokens), and names with a meaning for the server (Nats-Rollup would empty the stream),
// are sent in the one header Headrace-Metadata, which a Source splits again.
//
// # Why not watermill-nats
//
// The official adapter (v2.1.3) leaves a message without Watermill's header without an id
// and drops Nats-Msg-Id; by default it acknowledges at its ack timeout, which loses the
// message; it panics on a header with two values in its newer package; it has one message
// in flight; and it does not report progress while a handler works. The wire format here
// is that of its NATSMarshaler, so that each reads the other's messages.
//
// Of the client's package jetstream only the parts that manage streams and publish are
// used. Its Fetch takes a stored message without payload and with a header named Status
// for an answer of the server, so that one such message ends every fetch; here only a
// message without an ack subject is an answer.
//
// # Caveats
//
// If a Subscribe ends without a connection, its held messages come again after AckWait. A
// message whose handler never returns is held as long as its process lives.
//
// A stream of kind interest or work queue removes acknowledged messages. The Sink checks
// a stream before its first message to a subject, and not again: it does not notice
// limits that are set later, or that an interest stream's last consumer is removed later.
// A stream with the server's default sync_interval may lose the last two minutes when the
// machine loses power.
package nats
