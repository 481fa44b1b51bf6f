// Package consumertest tests handlers of package consumer as they will run: on a real
// database, delivered more than once, failing, and crashing in between.
//
//	func TestInvoices(t *testing.T) {
//		k := consumertest.New(t, consumertest.SQLite(), wire)
//		k.Exec("CREATE TABLE invoices (order_id TEXT, total INTEGER)")
//		paid := consumertest.JSON("orders.paid", "webhook-1", Order{ID: "10492", Total: 4200})
//
//		k.CrashAt(consumertest.AfterCommit)
//		k.DeliverAtOnce(3, paid)
//
//		k.AppliedOnce(paid, "SELECT count(*) FROM invoices WHERE order_id = $1", "10492")
//		k.Published(consumertest.Event{Topic: "invoices.created", Key: "10492"})
//	}
//
//	func wire(p *consumertest.Process) (*consumer.Consumer, error) {
//		c, err := consumer.New("billing", p.Store, consumer.Config{
//			Source: p.Source, Sink: p.Sink, Logger: p.Logger, Key: key, Retry: policy,
//		})
//		if err != nil {
//			return nil, err
//		}
//		consumer.Handle(c, "orders.paid", addInvoice)
//		return c, nil
//	}
//
// # Nouns
//
// A [Kit] is one test: a [Database] of its own, a broker, and the processes that consume
// from it. A [Wire] puts the consumer of a process together as the program does, on what
// it finds in [Process]; nothing in it knows of the kit, so it can be the program's own
// function. A [Message] is what a sender sends; to deliver it again is to hand over the
// same Message once more. An [Event] is what was published.
//
// # What to do to a handler
//
//   - [Kit.Deliver], [Kit.DeliverAtOnce] (to several processes at the same time) and
//     [Kit.Redeliver] (after the commit).
//   - [Kit.FailAttempt]: the n-th attempt fails, before or after the handler's effects.
//   - [Kit.CrashAt]: the process dies at a [Point], and another goes on.
//   - [Kit.Redrive]: a person sends a dead letter again.
//
// # What to ask
//
//   - [Kit.AppliedOnce], [Kit.DeadLettered], [Kit.Skipped].
//   - [Kit.Published], [Kit.NotPublished], [Kit.Events].
//   - [Kit.State], [Kit.Attempts], [Kit.Delays], and [Kit.Count] for your own tables.
//
// Each assertion first waits until everything has come to rest ([Kit.Settle]): no test
// needs to sleep. At the end the kit checks the invariants that are visible in the tables.
//
// Keys are tested without a database: [StableKey], [StableFingerprint], [DistinctKeys].
//
// # Rules
//
// Waiting takes no time. The policy of the program can stay as it is, with a backoff of
// hours: what it puts off is due after a millisecond, and Kit.Delays says what it asked
// for. A crashed process is known to be dead within about a second, and its leases end
// with it.
//
// Every handler of the consumer is tested the same way: those of Handle, HandleBatch,
// HandleLeased and, with [Process].Run, those of a Router with consumer.Attach.
//
// An injected failure or crash that nobody came to fails the test: it proved nothing.
//
// # Caveats
//
// A crash is simulated within the test's process: the consumer commits, publishes and
// acknowledges nothing any more and its transactions roll back, but what a handler does on
// connections of its own is not cut off, and goroutines that ignore their context live
// on. Real kills of real processes need a test of your own.
//
// The broker is a simple one: it keeps a message until it is acknowledged, and handlers of
// one topic share its deliveries as the members of a consumer group do. The adapter of
// your broker is not in these tests.
//
// A statement whose error the handler swallows passes on SQLite, which goes on with the
// transaction: what it should have written is missing, and the rest is committed. On
// PostgreSQL the transaction is aborted and the attempt fails. Run your tests on the
// database that the program uses.
//
// An effect outside of the handler's transaction shows once an attempt is repeated after
// it: use [Kit.FailAttempt] with AfterEffects, or [Kit.CrashAt]; several deliveries are
// not enough. On SQLite such a write waits for its own handler's transaction, and fails:
// test it on PostgreSQL.
//
// [Kit.Published] knows what came out of the outbox by its id: it does not find a handler
// that hands an event to the Sink under the id of one that has been published by its Tx.
//
// Failures show payloads, headers and errors. Do not feed it with real people's data.
package consumertest
