// Package alerting calls alert hooks in goroutines of their own.
//
// # Nouns
//
// A [Caller] has a hook and calls it, one call at a time. A [Dispatcher] sends the alerts
// of this process; its debouncer holds them back and counts them while their group is
// quiet. A group is the alerts
// with the same meaning.
//
// # Rules
//
// Send never blocks. A hook that is slow, hangs, fails or panics does not affect
// other work. Close waits for the goroutine.
//
// If two kinds end each other (paused and resumed), only the newest waits, with the count
// of the others. If it says the opposite of the last alert that was sent, it is sent
// within the quiet time after it has lasted a while.
//
// Memory is bounded: a debouncer holds a fixed number of groups.
//
// # Caveats
//
// A hook that ignores its context cannot be stopped. The Caller abandons its call and
// makes no other until it returns, and Close returns an error.
package alerting
