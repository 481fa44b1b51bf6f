// Package txn is a database transaction on one connection, as the stores give it to the
// engines: statements, savepoints, a commit with a classified outcome, and the classes of
// database errors.
//
// # Rules
//
// A [Txn] is used by one goroutine at a time, and ends with the first of Commit, Rollback
// and Discard; later ones do nothing.
//
// Errors are classified by SQLState (PostgreSQL, whichever driver) or by result
// code (SQLite), never by their text. See [Classify].
//
// COMMIT has three outcomes. nil: committed. An error that matches [ErrRolledBack]:
// nothing was committed. An error that matches [ErrCommitUnknown]: it is unknown, and the
// caller finds out by claiming again.
package txn
