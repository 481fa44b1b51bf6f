// Package alerting calls alert hooks away from the work.
//
// # Nouns
//
// A [Caller] owns a hook and calls it, one call at a time. A [Dispatcher] sends the
// alerts of this process; its book holds them back and counts them while their group
// is quiet. A [Reader] sends the alerts that are rows of the database. A group is the
// alerts that say the same. A round is one look of a reader at a namespace: a
// consumer, or "" for the relay.
//
// # Rules
//
// Send and Wake never block. A hook that is slow, hangs, fails or panics never costs
// work. Close waits for the goroutine.
//
// A book passes a state on ahead of the quiet time when its opposite was the last word
// and the state has settled. Of a state and its opposite only the newest waits, and
// counts the others: none that is known to be over is told.
//
// One reader has a namespace at a time, by a lease in the database. It takes what is
// due in one transaction, calls the hook with none open, and records the outcome in
// another: where it dies in between, another sends the alert again once the lease has
// ended. While nothing waits it only reads.
//
// Memory is bounded: a reader holds as many groups as it may send in a minute, a book
// a fixed number of groups, whatever the number of alerts.
//
// # Caveats
//
// A hook that ignores its context cannot be stopped. Its call is left behind, no
// other is made until it returns, and Close says so.
package alerting
