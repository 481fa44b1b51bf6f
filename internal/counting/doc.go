// Package counting adds up what opened and closed dead letters, and decides the states of their
// groups.
//
// # Rules
//
// A process at a time counts: the others find the counters locked, and look again. A transaction
// removes changes, writes the counters and the states with their audit, so a process that dies
// has counted either all of them or none. What is decided, and from what, is in package groups.
package counting
