// Package router runs a consumer inside of an existing Watermill Router: see
// consumer.Attach.
//
// # Nouns
//
// An [Attachment] connects a consumer to a Router. Middlewares outside are the Router's
// own; those inside are around the handler in each attempt. A rival is a middleware that
// undoes what headrace promises.
//
// # Rules
//
// The Router's deliveries become tasks of the consumer, which calls the handlers itself:
// a message from the backlog does not pass through the Router, but must be handled like a
// delivery.
//
// The Router has a copy of each message. The original is acknowledged after the outcome
// is committed, whatever happened to the copy.
//
// The handler gets a message of its own in each attempt, with bytes and a context that it
// shares with no other. So the next attempt and the dead letter have the message as it came.
//
// Rivals are known by the names of their functions, and refused only where the program
// hands us the function itself. All other middlewares are judged by what they do: what the
// handler returned, and what became of the message, is compared with what left the
// middlewares. No stack is looked at, and no private field of a Router.
//
// # Caveats
//
// The Router closes its subscribers and publishers. Ours wait until everything taken has
// been settled and published.
package router
