// Package checker holds the history against what is in the database under test.
//
// [Check] copies the history, the workload's tables and headrace's tables into a SQLite
// database of its own, and runs one query for each rule there: a row is a violation.
// The rules are files of rules/, numbered as the invariants that they stand for, with
// what they say as a comment; the same ones for both databases. [Probe] asks the
// database under test while faults are on.
package checker
