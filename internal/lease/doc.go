// Package lease does work on messages outside of a transaction, each under a lease of its
// row in the backlog.
//
// # Nouns
//
// A [Worker] serves one leased handler: it claims rows, runs the handler, extends their
// leases meanwhile, and lets package batch commit the effects or record the failure.
//
// # Rules
//
// A slot is taken before its row is claimed. A worker has a lease from before the commit
// of its claim until its effects are committed, or it is given back, or lost. A lost
// lease first cancels the work's context: no work continues under a lease that another
// process may have.
//
// The claim that takes a row over records its lost lease, in the same commit, so that
// each counts once.
//
// # Caveats
//
// Work that ignores its context is abandoned, with its slot.
package lease
