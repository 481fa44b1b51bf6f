// Package alerts tells people what they should know at once.
//
// # Nouns
//
// An [Alert] is one thing that happened; its [Kind] says what. A [Hook] passes
// alerts on: [Log] to a log, [Multi] to several hooks, a function of your own to a
// pager.
//
// # Rules
//
// A hook never blocks or rolls back work: the consumer calls it from a goroutine of
// its own, over a queue of fixed length. What does not fit is dropped, counted and
// logged.
//
// An alert holds names and counts, never a payload, a header or a secret.
//
// # Caveats
//
// Alerts are sent at most once: they are lost with the process.
package alerts
