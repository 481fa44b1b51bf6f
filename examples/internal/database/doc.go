// Package database opens the database of an example: a SQLite file, or PostgreSQL with -dsn.
// A program of yours opens the one that it has.
//
// # Nouns
//
// A [Database] is the store of headrace, and the *sql.DB of the example's own tables. A
// [Place] is where it is.
//
// # Rules
//
// Both are in one schema, and the tables of headrace are migrated when it is opened.
//
// # Caveats
//
// Errors do not show the DSN: it may hold a password.
package database
