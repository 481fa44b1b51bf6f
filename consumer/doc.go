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
// A [Consumer] has a name, a store, a source of deliveries and handlers. A handler
// is registered for a topic, with [Handle] for one message at a time or
// [HandleBatch] for many. Consumer and handler name together are the scope within
// which a message's key is unique.
//
// A handler that takes long is registered with [HandleLeased]: no transaction is open
// while it works, and what it returns is committed under the fence of a lease. With
// [Intake] messages are taken off the broker before they are handled. [From] gives a
// handler a source of its own, [Local] none: it is fed by Config.Routes, from the outbox
// of the same database.
//
// Each run of a consumer is an instance. After one that ended without a word the next is
// cautious for a while ([Consumer.Caution]), to find the message that may have ended it.
// A person can pause a consumer in all its processes ([Consumer.Pause]).
//
// # Rules
//
// Delivery is at least once; effects are applied once inside one database. A
// delivery is acknowledged after the commit that made it done, waiting or dead, and
// never before. A failing message is never negatively acknowledged: it is retried,
// waits in the backlog, or becomes a dead letter. Only what was not begun when the
// consumer stops is given back to the broker.
//
// A handler registered with Handle or HandleBatch shares its transaction with the
// handlers of other messages, which is what makes it fast. It promises to touch
// nothing but the database, through its Tx. One that calls other systems, changes
// the session, or needs the driver's own transaction is registered with [Alone].
//
// While the database cannot be had, nothing is dead-lettered and no attempt is
// spent: deliveries are held, the source is read no further, and Ready says why.
//
// # A Router that exists
//
// [Attach] makes the handlers of a Watermill Router safe as they are:
//
//	c, err := consumer.Attach(router, st, consumer.Config{Name: "billing", Sink: pub})
//	err = router.Run(ctx) // and then c.Wait, for what Run does not say
//
// The same rules hold. Handlers find their transaction in their message's context
// (headrace.TxFrom); what they return goes into the outbox with it. Middlewares stand
// outside, where they see deliveries, or inside, where they see every attempt; see
// Attach for which goes where.
//
// # Caveats
//
// With Attach, the Router closes what it was given, after everything taken was settled.
// Where a Subscribe fails, Router.Run returns at once and not after the handlers that had
// begun: Wait does. What Router.Close waits for is bounded by its CloseTimeout, whatever
// still runs; the messages are delivered again then.
//
// The user closes source and sink after Run has returned.
//
// A handler that ignores its context is left behind after its deadline; Run then
// returns an error that names it, since its goroutine cannot be ended.
package consumer
