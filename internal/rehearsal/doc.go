// Package rehearsal runs handlers on dead letters and rolls back, so that a person sees whether
// a fix works before the letters are redriven.
//
// # Nouns
//
// A [Rehearser] is that of a consumer's process. It answers requests of kind [Kind] with a
// [Report]: a [Result] for each letter.
//
// # Rules
//
// A letter is rehearsed in one transaction: its inbox row, which must be dead, becomes done;
// the handler runs as in a batch of one; the deferred constraints are checked as COMMIT would;
// and all of it is rolled back. Events are only counted. Nothing is recorded: no attempt, no
// alert, no metric of processing.
//
// The inbox row is done first. So a handler that commits the transaction by itself doubles
// nothing: its letter is closed as applied, and the handler is not rehearsed again by this
// process.
//
// Only handlers that say so (consumer.Rehearsable) are rehearsed, and of those none that calls
// other systems by its nature: leased ones, those that are Alone and those of a Router.
//
// # Caveats
//
// A rehearsal is evidence and no promise: another transaction may be in the way later. A
// sequence of PostgreSQL is not rolled back.
package rehearsal
