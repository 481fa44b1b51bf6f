// Package retry decides what to do after a failed attempt: run again now, later, or
// never.
//
// # Nouns
//
// An attempt is one run of a handler that ended in an error, a panic or a timeout; its
// [Class] says which. A [Policy] says how many attempts a message has and how far apart
// they are. A [Backoff] computes the delay. A [Decision] is the policy's result for one
// failure.
//
// A handler may decide itself: an error made by [Permanent] is never retried, one made by
// [After] is retried at its own time, and so is one made by [Postpone], without spending
// an attempt.
//
// # Rules
//
// A policy is a pure function. The delay depends only on the attempt and on a seed (the
// message's key), so logging it or computing it again in another process never changes
// it.
//
// Failures that the message did not cause (the database is down, the process shuts down)
// are not decided here and spend no attempt; the consumer holds such messages.
//
// # Caveats
//
// Jitter shortens a delay and never lengthens it, so that delays at the upper
// bound are spread as well.
package retry
