// Package runner calls the user's functions with a deadline, and recovers from their
// panics.
//
// # Nouns
//
// A [Session] is a goroutine that makes calls of the user's functions with [Session.Call],
// one after the other, and may do work of ours between them. If a call does not return after
// its deadline and a grace, it is abandoned, and the session with it. [Runner.Work] then goes
// on in another session; [Runner.Run] ends.
//
// # Rules
//
// A worker takes messages, runs their handlers and commits in one session: no goroutine is
// begun or woken for a message. So the function that runs handlers is called from the top of
// the session's stack, without deferred code around it. What follows a handler is in the
// worker's next function, which another session can call.
//
// One goroutine watches a session, and looks at it once in a grace: a signal for each call
// would cost more than most handlers do. Only the first call after a grace without one gives
// a signal, so that idle workers cost nothing.
//
// An abandoned session never runs code of ours again: when the user's function returns,
// its goroutine ends. So the next session may use everything that the session used,
// except the arguments of the user's function.
//
// # Caveats
//
// A function that ignores its context cannot be stopped. Its goroutine remains, and is
// counted until it returns.
package runner
