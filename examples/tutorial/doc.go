// Command tutorial is the shop of docs/tutorial.md: an order that is posted becomes an
// invoice and a mail, each once, on an SQLite file.
//
// # Nouns
//
// An order is what a customer posts. An invoice is a row. A mail goes through a mail server,
// which is a switch in this program, so that it can be away.
//
// # Rules
//
// The mail is an effect outside of the database: its handler is leased, holds no
// transaction while it talks to the mail server, and sends an idempotency key with each
// call. That it was sent is recorded with the message.
//
// # Caveats
//
// It serves without authentication, on loopback.
package main
