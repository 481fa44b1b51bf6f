// Package migrate applies the numbered migrations of a store, and checks that a
// database has them all.
//
// # Nouns
//
// A [Script] is a file NNNN_name.sql of a store, counted from 0001 without gaps. A [Book]
// is a database's record of applied scripts, the table headrace_migrations; each store
// implements it with its own statements.
//
// # Rules
//
// Each script runs in its own transaction, together with its record, while no other
// process migrates. Two at once are safe: the second has nothing to do. A released script
// is never changed: its checksum is recorded and compared.
//
// Opening a store only compares. If a database has too few scripts, more than this build
// knows, or a changed one, the error matches store.ErrSchema and says what to run.
package migrate
