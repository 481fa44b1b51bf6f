// Package prune removes what retention lets go, in small batches beside the work.
//
// # Nouns
//
// A [Round] walks once over the inbox and the letters of a consumer. [Keeper] begins
// one each time that one is due, for as long as it runs.
//
// # Rules
//
// Each batch is a transaction of its own, so a round may end anywhere: the next one
// goes on from where it was, or from the start. After each batch it rests for a
// multiple of the time that the batch took, so that it never has more than a share of
// the database, and less when the database is busy.
//
// One process at a time works on a consumer's round: the round is a row, taken for a
// short time and kept while it goes on (inbox.Pruner). A process that dies in it is
// followed by another one.
package prune
