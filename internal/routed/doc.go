// Package routed is what the middlewares for a Watermill Router have in common.
//
// # Rules
//
// A middleware never hands on the message that it was given, only copies with bytes of
// their own: whatever a handler does to its message, the next attempt and the dead
// letter have it as it came. Its context is never replaced either; a copy has its own.
//
// A Router gives a message back at once, however often, so the outermost of the
// middlewares pauses before it returns an error. The pause ends with the message's
// context: the Router is being closed then.
//
// # Caveats
//
// No middleware can return from runtime.Goexit. The outermost gives the message back
// itself then, because the Router never would.
package routed
