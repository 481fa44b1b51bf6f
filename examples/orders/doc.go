// Command orders is a whole consumer to copy: it reads orders from a message queue and
// writes an invoice for each, once, on an SQLite file and without any server.
//
// # Nouns
//
// An order is the body of a message, an invoice what the handler writes for it in its
// transaction, a mail what an event of the same transaction leads to. Package
// examples/billing is the consumer with its handlers. Package examples/internal/shop is the
// world outside: it sends orders, some of them twice and two of them poison, and counts what
// became of them.
//
// # Rules
//
// The exit status is 1 unless every order has what it should have.
//
// # Caveats
//
// The source is a channel of Watermill, which forgets its messages when the process ends.
// The next run sends all of them again.
package main
