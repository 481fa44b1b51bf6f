// Package migrate applies the numbered migrations of a store, and checks that a
// database has them all.
//
// # Nouns
//
// A [Script] is a file NNNN_name.sql of a store, counted from 0001 without gaps. A
// [Book] is a database's record of the scripts that were applied to it, the table
// headrace_migrations; each store implements it with its own statements.
//
// # Rules
//
// Each script runs in a transaction of its own, together with its record, while no
// other process migrates: two at once are safe, and the second finds nothing to
// do. A script is never changed once it was released: its checksum is recorded and
// compared.
//
// Opening a store only looks: a database with too few scripts, with more than this
// build knows, or with a changed one is refused with an error that matches
// store.ErrSchema and says what to run.
package migrate
