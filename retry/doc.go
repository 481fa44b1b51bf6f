// Package retry decides what follows a failed attempt: again now, again later, or
// never.
//
// # Nouns
//
// An attempt is one run of a handler that ended in an error, a panic or a timeout;
// its [Class] says which. A [Policy] holds how many attempts a message has and how
// far apart they are. A [Backoff] computes the delay. A [Decision] is the policy's
// answer to one failure.
//
// A handler may have its own word: an error made by [Permanent] is never retried,
// and one made by [After] is retried at the time it names.
//
// [Middleware] runs a handler of an existing Watermill Router again by a policy, and
// gives up with an [ExhaustedError].
//
// # Rules
//
// A policy is a pure function. The delay depends on the attempt and on a
// seed (the message's key) only, so looking at it, logging it or computing it
// again in another process never changes it.
//
// What is no fault of the message (the database is down, the process shuts down)
// is not decided here and spends no attempt; the consumer holds such messages.
//
// # Caveats
//
// Middleware waits in process and holds its message meanwhile. Delays of hours that
// survive a restart take a consumer.
//
// Jitter shortens a delay and never lengthens it, so that delays at the upper
// bound are spread as well.
package retry
