// Package maintenance is the regular work of a consumer's process that is not about one message:
// it looks after what all processes of a consumer, or of a database, share.
//
// # Rules
//
// Each task is a loop of its own, started by [Run] and ended with its context. A task that a
// process at a time may do takes a lock in the database; the others find it taken and look again.
package maintenance
