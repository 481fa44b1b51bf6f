// Package alerting calls alert hooks away from the work.
//
// A [Dispatcher] owns a queue of fixed length and the one goroutine that empties it
// into an alerts.Hook.
//
// Rules: Send never blocks. A hook that is slow, hangs or panics costs alerts, which
// are counted and logged, and never work. Close waits for the goroutine.
//
// Caveat: a hook that ignores its context cannot be stopped. Close gives up on it
// when its own context ends and says so.
package alerting
