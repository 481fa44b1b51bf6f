// Package serving decides whether a relay may publish its outbox: no live relay of it has
// another sink.
//
// # Rules
//
// A [Place] is asked for with each beat, in the database: package outbox has the contract.
// It holds for instance.Missed from the time at which the beat began, so that a process
// that was frozen publishes nothing before it has beaten again.
package serving
