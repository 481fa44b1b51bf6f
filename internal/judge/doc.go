// Package judge decides what caused a failure: the message, the store, or something not
// known yet. It is a pure function of facts, and the only place for that decision: live
// messages, rows of the backlog and leased work all use it.
//
// # Nouns
//
// [Facts] describe a failure: its [Phase] of the transaction, the class of the error,
// whether our own connection survived it, and whether the store works now. A [Decision]
// says what to do.
//
// # Rules
//
// An outage needs evidence. The store is the cause only if it does not work now. Decide
// asks for a ping and a probe (Ask); if they succeed, the store is not the cause.
//
// The state of our own connection counts, not what an error looks like: a handler's error
// from another database, or from a network call, may look like one of ours.
//
// Everything is bounded. A message runs again for free at most MaxReruns times; after
// that the failure is an attempt.
//
// # Caveats
//
// The facts are gathered by the caller: package batch.
package judge
