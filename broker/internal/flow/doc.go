// Package flow holds what sources do alike, whatever their broker: a [Gate] for pauses, a
// [Batcher] that settles messages many at a time, and an [Outage] that tells once of what
// fails for a while.
package flow
