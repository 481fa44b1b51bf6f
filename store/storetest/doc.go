// Package storetest is the conformance suite of stores: what the engines rely on,
// as tests that any driver of package store can be put through.
//
// # Nouns
//
// A [Harness] makes stores of one driver and declares its [Capabilities]; an
// [Instance] is one fresh store with a handle of its own on the same database, for
// what the suite wants to see or to spoil. [Run] runs all tests; a driver's test
// file is the harness and one call of it.
//
// # Rules
//
// A subtest is named by what it demands. Each has a store of its own, runs beside
// the others, and ends with the store's own Check: a test that leaves rows behind
// which contradict each other fails, whatever else it looked at.
//
// A test that needs what a database does not have is not run, and never skipped:
// the harness says so by a capability, and nothing else.
//
// # Caveats
//
// Statements of the suite are written for any dialect: $1 for arguments, and
// {{schema}} for where the tables stand. Nothing outside of tests may import this
// package.
package storetest
