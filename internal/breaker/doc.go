// Package breaker stops work while the store is unavailable, and finds out whether it is.
//
// # Nouns
//
// A [Breaker] is a circuit breaker for one store. The first failure of the store opens
// the circuit, and the next success closes it. A probe tests the store after one of our
// statements failed: it runs the same kind of statement with a harmless row, and rolls
// back.
//
// # Rules
//
// A server that cannot write still answers a SELECT, so a ping alone does not prove that
// the store works. A probe that fails because of a conflict with another transaction does
// prove it.
//
// # Caveats
//
// A probe takes numbers from the store's sequences, and on PostgreSQL leaves dead rows
// for VACUUM.
package breaker
