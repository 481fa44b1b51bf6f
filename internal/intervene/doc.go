// Package intervene does what a person asks about messages that wait in the backlog: run them
// now, or cancel them.
//
// # Rules
//
// A cancelled message becomes a dead letter of class cancelled, whole, in one commit with its
// inbox row, which goes from waiting to dead, its backlog row and the audit. It alerts on nothing,
// and can be redriven or discarded as any letter.
//
// The inbox row is moved first, as the workers do: of a worker and a person one waits for the
// other, and finds the message moved. A person waits only shortly, since a handler may run for
// long: then the message is being handled, and stays.
package intervene
