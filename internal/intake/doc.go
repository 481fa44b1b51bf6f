// Package intake moves messages into the backlog of their handlers, instead of handing
// them over at once: those that a route takes out of the outbox, and those of handlers
// that take what comes off the broker before they work on it.
//
// # Nouns
//
// A [Message] is what is taken in; an [Intake] takes many in one transaction. Each has
// an [Outcome].
//
// # Rules
//
// A message that is taken in has an inbox row that is waiting and a row in the backlog,
// by one commit. One that was known before is a duplicate; one whose key belongs to
// another message becomes a dead letter of its own, and so does one that no handler
// can be given.
//
// Order keys are locked before inbox rows are claimed, as everybody does. Of a strict
// order key, what comes in stands blocked behind what waits already.
//
// # Caveats
//
// Nothing is committed here, and after an error or a [Busy] the transaction can only be
// rolled back.
package intake
