// Package flow contains the common parts of sources for all brokers: a [Gate] for pauses,
// a [Batcher] that settles many messages at a time, and an [Outage] that logs a lasting
// failure once.
package flow
