// Package sqlfile loads the SQL statements of a store from files, one statement each, and
// inserts the schema's name and the parts that statements share.
//
// # Rules
//
// Tokens are replaced, see [Names]. {{schema}} becomes the name of the schema, quoted by the
// store for its dialect. Another one becomes the part of its name, from a file of the store's
// directory parts. {{now}} is the expression for the time: no other file reads the clock, so
// that a test can shift it. A file with any other {{…}} is an error.
//
// A file starts with a comment about the statement's purpose; the comment is sent with the
// statement, so that the server's log shows it. That of a part is not.
//
// Statements are looked up when a store is made, not when they run: a missing file is a
// mistake in the program, and [Get] and [Set.Fill] panic.
package sqlfile
