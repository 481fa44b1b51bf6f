// Package condition has the rules of alerts that fire and are resolved.
//
// # Nouns
//
// A [Condition] is one thing that is wrong, and its row: pending, firing or resolved. A [Judge]
// says what is wrong, from [Facts] that were read from the tables. A [Send] is what a sink knows
// of a condition.
//
// # Rules
//
// All of this is decided by functions of their arguments, with the database's time: Judge, Step
// and Next. One process at a time judges a namespace, which is a consumer, or "" for the
// database; one process at a time sends a namespace's alerts to a sink. A process that dies with
// a lease is replaced when it ends, and its own reports are resolved.
//
// A sink gets Firing before anything else, and Resolved only after it took Firing. An alert that
// could not be sent for a day is lost, and counted.
package condition
