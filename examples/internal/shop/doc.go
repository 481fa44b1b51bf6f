// Package shop is the world around the consumers of the examples: it sends orders, waits
// until they are done, and counts what became of them. For the examples with a broker it also
// opens the database and runs the consumer of package billing. There is nothing in it to
// copy.
//
// # Nouns
//
// An order is what a message says. The shop sends 100 of them, every tenth twice under
// another message id. Two are poison: one has no total, one is no JSON. An invoice and a
// mail are rows that the handlers write, in the tables invoices and mails.
//
// # Rules
//
// Every run sends the same messages under the same ids. So a run that was stopped is
// finished by the next one with the same database, and nothing is applied twice. The
// counts come from the tables, which have no unique index that would hide a second row.
package shop
