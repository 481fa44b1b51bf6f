// Package txn is a database transaction on one connection, as the stores hand it
// to the engines: statements, one savepoint name, a commit whose outcome is
// classified, and the classes of database errors that somebody decides on.
//
// # Rules
//
// A [Txn] is used by one goroutine at a time, and ends with exactly one of Commit,
// Rollback and Discard; the later ones do nothing.
//
// Errors are classified by SQLState (PostgreSQL, whichever driver) or by result
// code (SQLite), never by their text. See [Classify].
//
// COMMIT has three ends. nil: committed. An error that matches [ErrRolledBack]:
// the database said that nothing was committed. An error that matches
// [ErrCommitUnknown]: nobody knows, and the caller finds out by claiming again.
package txn
