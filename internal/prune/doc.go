// Package prune removes rows after their retention, in small batches between other work.
//
// # Nouns
//
// A [Round] walks once over the inbox and the letters of a consumer. A [Keeper] starts a
// round whenever one is due.
//
// # Rules
//
// Each batch is its own transaction, so a round may end anywhere: the next one continues
// from there, or from the start. After each batch it rests for a multiple of the batch's
// time, so that it uses only a share of the database, and less when the database is busy.
//
// One process at a time works on a consumer's round: the round is a row, taken for a
// short time and kept while it continues (inbox.Pruner). If the process dies, another one
// continues.
package prune
