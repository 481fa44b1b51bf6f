// Package execute runs the handlers of a batch inside the transaction that has claimed it,
// with savepoints where failures are likely.
//
// # Nouns
//
// An [Execution] makes [Call]s of the user's functions, following its [Plan]. A [Trouble]
// is the reason why it ended before all calls.
//
// # Rules
//
// A message that fails is undone with the messages since the savepoint, and those run
// again without it, in the same transaction. When one has run again twice, the savepoint
// is moved behind it: another message runs at most three times, and once more only if one
// of those reruns fails. The failure rate of the handler decides the spacing of
// savepoints; there is none at first. A failure before the first statement undoes nothing.
//
// The results for recording are only collected here: [Execution.Applied], Events and
// Failures.
//
// # Caveats
//
// An Execution is used by one goroutine at a time: that of the session during Run.
package execute
