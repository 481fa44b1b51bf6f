// Package consumer runs handlers for the messages of any Watermill subscriber, with
// their effects applied once inside one database.
//
//	c, err := consumer.New("billing", st, consumer.Config{Source: sub, Sink: pub})
//	consumer.Handle(c, "orders.paid", func(ctx context.Context, tx *headrace.Tx, m *headrace.Message[Order]) error {
//		...
//	})
//	err = c.Run(ctx)
//
// # Nouns
//
// A [Consumer] has a name, a store, a source of deliveries and handlers. A handler is
// registered for a topic, with [Handle] for one message at a time or [HandleBatch] for
// many. The names of consumer and handler together are the scope in which a message's key
// is unique.
//
// Register a slow handler with [HandleLeased]: no transaction is open while it works, and
// its result is committed under the fence of a lease. With [Intake] the consumer takes
// messages off the broker before it handles them. [From] gives a handler its own source.
// A [Local] handler has no source: it gets the events that are published in the same
// database.
//
// Each run of a consumer is an instance. After an instance ends unexpectedly, the others
// mark their messages for a while, to find the one that may have ended it. A person can
// pause a consumer in all its processes ([Consumer.Pause]).
//
// # Rules
//
// Delivery is at least once; effects are applied once inside one database. The consumer
// acknowledges a delivery only after the commit that made it done, waiting or dead. It
// never negatively acknowledges a failing message: it retries the message, puts it into
// the backlog, or makes it a dead letter. When the consumer stops, it gives back to the
// broker only deliveries that it has not begun.
//
// A handler registered with Handle or HandleBatch shares its transaction with the
// handlers of other messages, which makes it fast. It promises to touch nothing but the
// database, through its Tx. Register a handler that calls other systems, changes the
// session, or needs the driver's own transaction with [Alone].
//
// While the database is unavailable, the consumer dead-letters no message and spends no
// attempt. It holds its deliveries and stops reading the source, and Ready says why.
//
// # A Router that exists
//
// [Attach] makes the handlers of an existing Watermill Router safe:
//
//	c, err := consumer.Attach(router, st, consumer.Config{Name: "billing", Sink: pub})
//	err = router.Run(ctx) // and then c.Wait, for what Run does not say
//
// The same rules hold. Handlers find their transaction in their message's context
// (headrace.TxFrom), and a key for calls of other systems (headrace.IdempotencyKeyFrom).
// The messages that they return go into the outbox with the transaction. A middleware is
// either outside, where it sees deliveries, or inside, where it sees every attempt; see
// Attach.
//
// # Caveats
//
// With Attach, the Router closes its subscribers and publishers after everything has been
// settled. If a Subscribe fails, Router.Run returns at once and does not wait for running
// handlers; Wait does. Router.Close waits for its CloseTimeout at most, even if handlers
// still run; their messages are delivered again then.
//
// The user closes source and sink after Run has returned.
//
// After its deadline the consumer abandons a handler that ignores its context. Run then
// returns an error that names the handler, since its goroutine cannot be ended.
package consumer
