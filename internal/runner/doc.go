// Package runner calls the user's functions with a deadline, and recovers from their
// panics.
//
// # Nouns
//
// A [Runner] runs a function of ours in its own goroutine, the [Session]. The session
// calls the user's functions one after the other with [Session.Call], and may do work of
// ours between the calls. If a call does not return after its deadline and a grace, it is
// abandoned, and the session with it.
//
// # Rules
//
// One goroutine makes many calls, and another one watches it: a signal for each call
// would cost more than most handlers do.
//
// An abandoned session never runs code of ours again: when the user's function returns,
// its goroutine ends. So the caller of Run may use everything that the session used,
// except the arguments of the user's function.
//
// # Caveats
//
// A function that ignores its context cannot be stopped. Its goroutine remains, and is
// counted until it returns.
package runner
