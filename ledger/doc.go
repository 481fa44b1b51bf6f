// Package ledger records each call that a leased handler makes to another system. A run after a
// crash, a timeout or a redrive repeats no call that is known to be done. After a call with an
// unknown outcome it does what the handler has declared.
//
// # Nouns
//
// A [Step] declares a call: its name, the system that it goes to, and its [Recovery]: what
// to do after a call whose outcome is unknown. Each step of a message has a row ([Row]) in
// the database. A [Call] is one call of a step, with its idempotency key.
//
// # Rules
//
// Before a call its row says "pending", in a commit of its own that only the holder of the
// message's lease can make. After the call the row says what came of it. A row that still says
// "pending" later is open: it is unknown what the call did.
//
// An error without a mark means that the outcome is unknown. [Refused] says that the
// system answered that it did nothing, [NotSent] that this request did nothing although an
// earlier one may have, [Exists] that the system has it from an earlier call. [HTTP] marks
// the error of an HTTP call.
//
// A message is not done while one of its steps is open or waits for a person.
//
// Names are the only identities: a step that is recorded is found by its name, so steps
// may be reordered and inserted between two runs, and a renamed one names what it was
// (Step.Was).
//
// Messages whose step has a Memo share its result: the first one that is recorded counts for
// all of them, until the time of the Memo is over.
//
// After a restore, rows are lost: see [SuspectMode].
//
// # Caveats
//
// Effects happen once inside one database. Outside of it the ledger can only do what the other
// system allows. If that system neither drops repetitions nor can be searched, a call whose
// outcome is unknown is lost (Skip) or waits for a person (Park).
//
// Mistakes that no check can find: Forever for a call that is no upsert; Skip for money;
// the clock, random numbers or a model's output in a key, Of or Input; a Find by e-mail or
// amount, which adopts another message's result; one step for many items.
package ledger
