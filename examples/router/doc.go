// Command router runs a Watermill Router as it was, and then the same one made safe by
// consumer.Attach, on a broker that repeats itself and a check that fails now and then,
// and counts what became of the messages.
//
// # Nouns
//
// Package before is the program that existed, package after the same with the lines
// changed that make it safe; their diff is in the README. The broker is a queue in
// memory. Package shop has the messages and the check, package db what sqlc generates.
//
// # Caveats
//
// gorm's own dialects for SQLite bring a second SQLite library along, so the example
// speaks gorm's PostgreSQL dialect: what it writes here, SQLite understands.
package main
