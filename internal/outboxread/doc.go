// Package outboxread reads the rows of one shard of an outbox, in a transaction, for
// publishing and local delivery.
//
// # Nouns
//
// A [Reader] opens transactions that read. A [Batch] is the rows that were read: held rows
// that are due, and ready rows.
//
// # Rules
//
// A row keeps its order with the rows of its topic and order key. A ready row of an order
// with held rows is not moved on, but held behind them.
package outboxread
