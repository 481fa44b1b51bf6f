// Package chain keeps the middlewares of this module in their order.
//
// # Nouns
//
// A [Stage] is one of the middlewares. Each enters its stage in the message's
// context, and what it calls sees which stages were entered.
//
// # Rules
//
// Stages are entered from the outermost to the innermost, each once; some may be left
// out. What breaks that is found by the first message, because nothing else sees the
// whole of a Router's middlewares.
//
// A context that passes from one handler to another (a Pub/Sub that preserves it)
// takes no stages along: they belong to the handler that entered them.
package chain
