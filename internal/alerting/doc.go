// Package alerting calls alert hooks in goroutines of their own.
//
// # Nouns
//
// A [Caller] has a hook and calls it, one call at a time. A [Dispatcher] sends the alerts
// of this process; its debouncer holds them back and counts them while their group is
// quiet. A [Reader] sends the alerts that are rows of the database. A group is the alerts
// with the same meaning. A namespace is a consumer, or "" for the relay.
//
// # Rules
//
// Send and Wake never block. A hook that is slow, hangs, fails or panics does not affect
// other work. Close waits for the goroutine.
//
// If two kinds end each other (paused and resumed), only the newest waits, with the count
// of the others. If it says the opposite of the last alert that was sent, it is sent
// within the quiet time after it has lasted a while.
//
// One reader at a time has a namespace, by a lease in the database. It takes the due
// alerts in one transaction, calls the hook without one, and records the outcome in
// another. If it dies in between, another reader sends the alert again when the lease has
// ended. While no alert waits it only reads.
//
// Memory is bounded: a reader holds as many groups as it may send in a minute, a
// debouncer a fixed number.
//
// # Caveats
//
// A hook that ignores its context cannot be stopped. The Caller abandons its call and
// makes no other until it returns, and Close returns an error.
package alerting
