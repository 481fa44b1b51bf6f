// Package migrate applies the numbered migrations of a store, and checks that a build can
// run on the schema of a database.
//
// # Nouns
//
// A [Script] is a file NNNN_name.sql of a store, counted from 0001 without gaps. The row of
// headrace_meta says which was the last one, and which builds can run on the schema: those
// that know the scripts up to readable_from. A [History] is a database to migrate; each store
// implements it.
//
// # Rules
//
// Each script ends with a statement that sets the version, and raises readable_from if it
// removes or changes what older builds use. It runs in its own transaction while no other
// process migrates; two at once are safe, since the second has nothing to do. A released
// script is never changed.
//
// A script with the line "-- concurrent" builds an index on a table in use (PostgreSQL).
// Its statements run one by one, outside of a transaction, each ending with its line. It
// drops the index first, if it exists: an earlier try may have left an invalid one.
//
// Opening a store only compares. If the schema is too old for this build, or cannot be read
// by it any more, the error matches store.ErrSchema and says what to run.
package migrate
