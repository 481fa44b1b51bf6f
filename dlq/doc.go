// Package dlq holds messages that were given up, and what a person can do with them:
// see why, send them again, or let them go.
//
// # Nouns
//
// A [Letter] is a message that was given up, whole: its bytes as they came, what went
// wrong, and how often it was tried. A [Class] says why, a [Group] gathers letters by
// the [Fingerprint] of their failure. A [Desk] is where a person decides: redrive puts
// the message into the backlog of the handler that gave it up, discard ends it. Each
// decision leaves an [Audit] row.
//
// [Middleware] keeps the messages that the handlers of an existing Watermill Router
// cannot take.
//
// # Rules
//
// The inbox says where the message is, the letter is its body: a letter that is open
// and no conflict belongs to an inbox row that is dead. Redrive and discard move both
// in one commit, from the state that they expect and from no other, so that each
// letter is decided on once, whoever else decides at the same time.
//
// A redrive passes through the inbox like any message: a message that was applied
// meanwhile is not applied again. It starts with a new budget of attempts; the attempts
// recorded before stay, and go on counting. A message that fails again becomes a new
// letter, whose PreviousID and Redrives tell where it came from.
//
// A conflict (the key of another message, with other contents) is sent again only under
// a new key. The message that had the key first is never touched.
//
// Where order is strict, a redriven message goes behind those of its order key that wait
// already. A dead message holds nobody up.
//
// # Caveats
//
// A redrive of what Middleware kept waits in the backlog until a consumer of that name
// runs; a plain Router does not look there.
//
// How often a message may be redriven is the operator's choice; nothing is redriven by
// itself. A redrive puts messages of one order key back in the order in which they died,
// and behind what was handled since.
//
// Payloads and error texts are what came from outside: show them escaped.
package dlq
