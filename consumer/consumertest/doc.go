// Package consumertest tests handlers of package consumer on a real database, with
// repeated deliveries, failures and crashes.
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
// A [Kit] is one test: its own [Database], a broker, and the processes that consume from
// it. A [Wire] builds the consumer of a process from a [Process], as the program does; it
// needs nothing of the kit, so it can be the program's own function. A [Message] is what
// a sender sends; to deliver it again, pass the same Message again. An [Event] is a
// published message.
//
// # What a test can do to a handler
//
//   - [Kit.Deliver], [Kit.DeliverAtOnce] (to several processes at the same time) and
//     [Kit.Redeliver] (after the commit).
//   - [Kit.FailAttempt]: the n-th attempt fails, before or after the handler's effects.
//   - [Kit.CrashAt]: the process dies at a [Point], and another goes on.
//   - [Kit.Redrive]: redrives a dead letter.
//   - [Kit.Tick] is a tick of a schedule, [Kit.Post] a webhook.
//
// Steps of package ledger call a [System], a stand-in that loses answers, refuses, finds
// what it has made and drops repetitions, or does not. [Kit.CrashAt] knows the points of a
// step, and [Steps.Resolve] is a person's decision. A message that waits for a signal waits
// until [Steps.Send], or [Steps.Expire].
//
// # What a test can check
//
//   - [Kit.AppliedOnce], [Kit.DeadLettered], [Kit.Skipped].
//   - [Kit.Published], [Kit.NotPublished], [Kit.Events].
//   - [Steps.CalledOnce], [Steps.Parked], [Steps.Awaits].
//   - [Kit.State], [Kit.Attempts], [Kit.Delays], and [Kit.Count] for your own tables. These read what
//     is there now: call [Kit.Settle] before.
//
// Each assertion first waits until no work is left ([Kit.Settle]), so no test needs to
// sleep. At the end the kit checks the invariants that the tables show.
//
// Keys are tested without a database: [StableKey], [StableFingerprint], [DistinctKeys].
//
// # Rules
//
// Waiting takes no time. The program's policy can stay as it is, with a backoff of hours:
// a delayed message is due after a millisecond, and Kit.Delays returns the delay that the
// policy gave. For the steps of the message, and for a System, that time has passed: a FindAfter or KeyWindow that
// does not fit the system shows. The kit notices a dead process within about a second, and then ends its
// leases.
//
// Handlers of all kinds are tested the same way: those of Handle, HandleBatch,
// HandleLeased and, with [Process].Run, those of a Router with consumer.Attach.
//
// An injected failure or crash that did not happen fails the test: it proved nothing.
//
// # Caveats
//
// The kit simulates a crash within the test's process. The consumer commits, publishes
// and acknowledges nothing more, and its transactions roll back. But calls that a handler
// makes on other connections are not cut off, and goroutines that ignore their context
// continue. Real kills of real processes need a test of your own.
//
// The broker is a simple one. It keeps a message until it is acknowledged, and processes
// share the deliveries of a topic like the members of a consumer group. Within a process a
// topic has one subscription: two consumers of one topic are tested with a Kit each. These
// tests do not cover the adapter of your broker.
//
// If a handler ignores the error of a statement, SQLite continues the transaction and
// commits the rest. PostgreSQL aborts the transaction, and the attempt fails. Run your
// tests on the database that the program uses.
//
// An effect outside of the handler's transaction shows only if an attempt is repeated
// after it. Several deliveries are not enough: use [Kit.FailAttempt] with AfterEffects,
// or [Kit.CrashAt]. On SQLite such a write waits for its own handler's transaction and
// fails: test it on PostgreSQL.
//
// [Kit.Published] recognises outbox events by their id. It does not find a handler that
// also hands an event to the Sink under the id of an event that its Tx published.
//
// Failures show payloads, headers and errors. Do not use data of real people.
package consumertest
