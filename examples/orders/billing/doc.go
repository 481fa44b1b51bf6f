// Package billing is the consumer of the examples: it reads paid orders as Shopify sends
// them, and writes an invoice for each, once. Its callers choose the broker and the database.
//
// # Nouns
//
// A webhook is a message, an order its body. An invoice is the row that the handler writes,
// and a [Confirmation] the event that tells the customer.
//
// # Rules
//
// The key of an order is in its body and the shop's header, because a shop that repeats
// itself gives each webhook another id.
//
// # Caveats
//
// What an order is, and how exact amounts are read, is in package tests/endtoend/shopify.
package billing
