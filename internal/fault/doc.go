// Package fault wraps what a consumer is given, so that a test is called at each named
// point on the way of a message, and can end the process there or let the call fail.
// Production code has no hooks.
//
// # Nouns
//
//   - A [Point] is a place on the way of a message, named after what just happened or is
//     about to.
//   - A [Hook] is called at a Point, on the goroutine that came there.
//   - [Store], [Subscriber] and [Publisher] wrap the three things that a consumer.Config
//     and consumer.New are given.
//
// # Rules
//
// A hook that kills its process (SIGKILL) leaves the database and the broker as a crash
// at that point does. A hook that returns an error makes the wrapped call fail as a lost
// connection would: before a COMMIT nothing is committed; after one the outcome is
// unknown to the caller, and committed. The error matches the hook's own and
// driver.ErrBadConn.
//
// A process that died is simulated by a hook that returns an error at every Point from
// then on, [Call] and [BeforeAck] included: no transaction begins or commits any more,
// nothing is written outside of one (heartbeats, batches of a prune), nothing is
// published, received or acknowledged. Deliveries that were taken then stay neither
// acknowledged nor given back: the test's own source delivers them again, as a broker
// does when a connection goes.
//
// A transaction is of one kind, which says which points its commit has: a redrive if it
// took letters to redrive them, else the relay's if it locked a shard of the outbox, else
// a letter's if it inserted one, else work if it claimed or finished a message. Other
// commits (attempts, alerts, leases) have [Call] only.
//
// # Caveats
//
// Wrap a store once per process: consumers of one store share its relay by
// identity of the sink, so give them one wrapped [Publisher] as well. [MidHandler] and
// the like, inside a handler, are reached by calling the hook there. Points inside of
// one statement or one batch of a prune are not reached: they are one transaction. A
// savepoint that is rolled back does not take the kind of its transaction with it.
package fault
