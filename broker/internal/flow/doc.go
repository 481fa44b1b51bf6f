// Package flow contains the common parts of sources for all brokers: a [Gate] for pauses,
// [Bytes] that bound what is in flight, a [Batcher] that settles many messages at a time,
// an [Outage] that logs a lasting failure once, the [Health] of a subscription, and which
// errors say that a server is [Unavailable].
package flow
