// Package sqlfile loads the SQL statements of a store from files, one statement
// each, and puts the schema's name into them.
//
// # Rules
//
// The one thing that is ever substituted is the token {{schema}}; what it becomes
// is quoted by the store, for its dialect. A file that holds any other {{…}} is
// refused. A file starts with a comment that says what the statement is for; the
// comment reaches the server with the statement, where its log shows it.
//
// Statements are looked up when a store is made, not when they run: a missing file
// is a mistake of the program, and [Get] panics.
package sqlfile
