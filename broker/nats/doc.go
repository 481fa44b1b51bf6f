// Package nats connects consumers and the outbox to NATS JetStream.
//
//	source, err := nats.NewSource(nats.SourceOptions{URL: "nats://127.0.0.1:4222", Durable: "billing"})
//	sink, err := nats.NewSink(nats.SinkOptions{URL: "nats://127.0.0.1:4222"})
//	c, err := consumer.New("billing", st, consumer.Config{Source: source, Sink: sink})
//
// # Nouns
//
//   - A topic is a subject: "orders.paid". To subscribe, it may have wildcards. A stream
//     that the operator made has the subject; see Provision for small programs and tests.
//   - A [Source] has one durable pull consumer on the server for each topic, named after
//     SourceOptions.Durable and the topic. Processes with one Durable share its messages.
//   - The window is how many messages, and of how many bytes, a subscription holds: asked
//     for, handed over, and not yet acknowledged.
//   - A [Sink] publishes into streams.
//
// # What is promised
//
// Every message of the stream is given until it was acknowledged, and the server has
// confirmed the acknowledgement: at least once. The position of a message is its sequence
// and the time at which the stream stored it, so that a stream which was removed and made
// again has other positions. A message's id is Watermill's header, else Nats-Msg-Id, else
// none, and then the position is its key.
//
// While a message is held the server is told so (InProgress), three times within AckWait,
// however long the handler takes. A message that is given back stays away for NackDelay.
//
// Messages come in the order of the stream, except those that come again. Across
// processes there is no order, unless MaxAckPending is 1. The order key of an event
// travels along (header Headrace-Order-Key), and is the order key of its delivery.
//
// Publish returns nil when the stream has stored all messages. An error says that one of
// them at least is not known to be stored; others may be. The server removes repetitions
// of a message within the stream's duplicate window, by its Nats-Msg-Id, which is made of the
// id and everything else but the trace context; beyond it, the inbox of the consumer does.
// What the stream takes for a repetition, and does not hold any more, is stored again.
//
// # Limits
//
// Check refuses a consumer on the server whose AckPolicy is not explicit, whose AckWait
// (or BackOff) is below a second, or whose MaxDeliver is below what the handler needs: the
// server then goes on without the message, silently; or that is HeadersOnly. Streams that
// keep their messages in memory are refused without UnsafeMemory, and streams that do not
// confirm (NoAck) always. Streams that remove what nobody has handled are refused without
// UnsafeDiscard, by the Sink also one of the kind interest that has no consumer for the
// subject, since it confirms and stores nothing.
//
// NATS drops what credentials may not publish, and answers nothing. Check and Subscribe
// try whether they may ask for messages and acknowledge them; requests and acknowledgements
// that are not answered later are logged once.
//
// [Source.Retention] is the stream's MaxAge where SourceOptions.Stream is given.
//
// # Headers
//
// A header with several values becomes one metadata entry with a line for each. What is
// not UTF-8 becomes "base64:" and its standard base64. A header block that cannot be read
// at all is dropped by the client library; the payload comes without it. Metadata that a
// header cannot hold as it is (line breaks, spaces at its ends, names that are no tokens),
// and names that mean something to the server (Nats-Rollup would empty the stream), travel
// in the one header Headrace-Metadata, which a Source takes apart again.
//
// # Why not watermill-nats
//
// The official adapter (v2.1.3) leaves a message without Watermill's header without an id
// and drops Nats-Msg-Id; acknowledges at its ack timeout unless told otherwise, which
// loses the message; panics on a header with two values in its newer package; has one
// message in flight; and tells the server nothing while a handler works. The wire format
// is that of its NATSMarshaler, so that either reads what the other sends.
//
// Of the client's package jetstream only what manages streams and publishes is used. Its
// Fetch takes a stored message without payload and with a header named Status for a word
// of the server, so that one such message ends every fetch; here only what has no ack
// subject is one.
//
// # Caveats
//
// When a Subscribe ends without a connection, what it held comes again after AckWait.
// A handler that never returns is held for as long as its process lives.
//
// A stream of the kinds interest and work queue removes what was acknowledged. The Sink
// looks at a stream before its first message to a subject, and not again: limits that are
// set later, and an interest stream's last consumer that is removed later, it does not see.
// A stream in the server's default sync_interval may lose the last two minutes when the machine loses power.
package nats
