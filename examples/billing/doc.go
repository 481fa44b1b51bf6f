// Package billing is the consumer of the examples, to copy: it reads paid orders, and writes
// an invoice for each, once. Its callers choose the broker and the database.
//
// # Nouns
//
// An [Order] is the body of a message. An invoice is the row that its handler writes, and a
// mail is the row that the invoice's event leads to in a second handler.
//
// # Rules
//
// The key of an order is in its body, because an order that is sent twice has two message
// ids. The handler fails for every tenth order, twice: its invoice is rolled back, and the
// message is retried.
package billing
