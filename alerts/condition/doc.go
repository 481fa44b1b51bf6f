// Package condition has the rules of alerts that fire and are resolved.
//
// # Nouns
//
// A [Condition] is one thing that is wrong, and its row: pending, firing or resolved. A [Finding]
// says what is wrong now: package internal/watching judges it from the tables. A [Send] is what a
// sink knows of a condition.
//
// # Rules
//
// Step and Next decide, by nothing but their arguments and the database's time. One process at a time judges a namespace, which is a consumer, or "" for the
// database; one process at a time sends a namespace's alerts to a sink. A process that dies with
// a lease is replaced when it ends, and its own reports are resolved.
//
// A sink gets Firing before anything else, and Resolved only after it took Firing. An alert that
// could not be sent for a day is lost, and counted.
package condition
