// Command quickstart turns HTTP requests into invoices, each once, on an SQLite file and
// without a broker.
//
// # Nouns
//
// An order is what a shop posts. Its event has the request's Idempotency-Key as its id. An
// invoice and a mail are rows that the handlers of events write.
//
// # Rules
//
// main.go is one page, and all that a program needs. What posts orders, waits and prints
// is package tour.
//
// # Caveats
//
// The tables have no unique index, so that an effect that was applied twice would show.
package main
