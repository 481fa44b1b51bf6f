// Package sqlfile loads the SQL statements of a store from files, one statement each, and
// inserts the schema's name and the expression for the time.
//
// # Rules
//
// Two tokens are replaced, see [Names]. {{schema}} becomes the name of the schema, quoted
// by the store for its dialect. {{now}} becomes the store's expression for the time, from
// a separate file: no other file reads the clock, so that a test can shift it. A file
// with any other {{…}} is an error. A file starts with a comment about the statement's
// purpose; the comment is sent with the statement, so that the server's log shows it.
//
// Statements are looked up when a store is made, not when they run: a missing file is a
// mistake in the program, and [Get] and [Set.Fill] panic.
package sqlfile
