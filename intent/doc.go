// Package intent starts work by a key, and says what became of it: over Go, and over HTTP
// for callers that cannot know whether their request arrived.
//
//	var Tickets = intent.Kind[Ticket]{Consumer: "support", Handler: "tickets"}
//
//	consumer.HandleLeased(c, "tickets", triage, consumer.Local(), Tickets.Option())
//	got, err := Tickets.Start(ctx, client, intent.Request[Ticket]{Owner: "acme", Key: "mail:77", Value: t})
//	got, err = Tickets.Await(ctx, client, got.Key)
//
// # Nouns
//
// A [Kind] says whose handler does an intent, which key it has, and when two are the same.
// A [Request] asks for one, and a [Client] carries it to the database. An [Intent] is what is
// known of it: its state, the failed attempts, the steps, the dead letter and the answer,
// which the handler gives with [Answer].
//
// # Rules
//
// Start is one commit: the row of the inbox and that of the backlog. The same key with the same
// content is the same intent, in any state, for as long as the consumer keeps its messages. The
// same key with other content is [ErrConflict], and writes nothing. There is no dead letter,
// because the caller gets the error.
//
// The consumer asks its own key function before it handles an intent. If that gives another
// key, because two programs have different Kinds, the intent is an undecodable dead letter,
// and nothing is applied.
//
// An answer is written in the commit of the effects.
//
// The default key is the owner and the owner's key. [Handler] takes the owner from your
// function and never from the request's own words, so tenants can neither read nor block
// each other's intents. A Kind with a key of its own has no owners, and Handler refuses it.
//
// # Caveats
//
// After the retention of the consumer a key is unknown, and the same request is another
// intent: see Intent.Until.
//
// Start does not join a transaction of yours. To start work in one, publish an event.
//
// An answer, and a value, are stored as they are: keep secrets out of them.
package intent
