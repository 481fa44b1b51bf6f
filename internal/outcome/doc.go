// Package outcome writes the outcomes of messages into the transaction that claimed them:
// a retry, a dead letter, a conflict, or that a message was taken in.
//
// # Nouns
//
// A [Recorder] writes [Failure]s, and deletes the backlog rows of messages that ended.
// [Recorder.Intake] puts messages into the backlog before any handler has them.
//
// # Rules
//
// The inbox row changes together with the backlog and the dead letters: a message is in
// the backlog if and only if its inbox row is waiting, and is dead if and only if it has
// a letter. This package commits nothing, so the record of a failure shares one commit
// with the effects of the other messages.
//
// A retry is a row of the backlog, whether it is due now or later, and whether it costs
// an attempt or not. A message runs again in no other way.
//
// # Caveats
//
// After an error the transaction can only be rolled back.
package outcome
