// Package pause stops a process from taking messages while its consumer is paused.
//
// # Nouns
//
// A [State] is the known state of the pause. A [Watch] reads it periodically.
//
// # Rules
//
// A process begins no work until it knows that its consumer is not paused. While the
// database does not answer, the last known state counts.
//
// The watch also finds out that the database hangs: it neither rejects nor answers
// statements. Other statements would find that out only at their timeout, or never. Then
// the watch opens the breaker.
package pause
