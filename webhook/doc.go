// Package webhook receives webhooks. A [Source] is a Watermill Subscriber whose broker is
// the HTTP server of your program, and whose acknowledgement is the answer:
//
//	hooks, err := webhook.NewSource(webhook.Options{})
//	mux.Handle("POST /hooks/stripe", hooks.Endpoint("stripe", webhook.Stripe(secret)))
//	consumer.Handle(c, "stripe", addPayment, consumer.From(hooks))
//
// # Nouns
//
//   - An endpoint is a URL. The requests to it that its [Verifier] lets pass become
//     messages of its topic, whose payload is the body, byte for byte.
//   - A Verifier proves that a request comes from the sender, and says which event it
//     tells: [Stripe], [GitHub], [Shopify], [Standard], or a function of yours.
//
// # Guarantees
//
// The answer is 2xx only after the commit that says where the message is: with
// consumer.Handle that of the effects, with consumer.Intake and consumer.HandleLeased
// that of its row in the backlog. An event that the sender tells again is known by its
// id, so that its effects are applied once; it is answered 2xx too. A message that fails
// is retried by the consumer, and the sender does not know.
//
//	200  the message is durable, or was known
//	400  the body did not come whole
//	401  the Verifier refused the request; the reason is in the log
//	405  the method is not POST
//	408  the body took longer than five seconds
//	413  the body is larger than Options.MaxBody
//	415  the body is compressed: the signature covers other bytes
//	503  the consumer does not run or is paused, MaxInFlight requests wait, or there was no
//	     commit within AckTimeout: the sender has to try again
//
// A message that is committed after its request was answered 503 is known when the
// sender repeats it.
//
// # Keys
//
// The message's id is the sender's id of the event, and the default key. GitHub and
// Shopify sign the body alone: whoever has seen one request can send it again under
// another id, for ever. The consumer refuses to start if a handler of such an endpoint
// has no key of its own; make it from the body, as with inbox.JSON("id"). The headers of
// such a message, and the URL, prove nothing either. Stripe and Standard Webhooks sign
// the id and the time, and a request older than five minutes is refused.
//
// Stripe may tell one fact in two events; where that matters, make the key from
// data.object.id and type.
//
// # Headers
//
// Metadata has Content-Type, the headers that the Verifier names, and those of
// Options.Headers. Others may hold secrets, and are dropped.
//
// # Caveats
//
// Do not rely on the sender to try again. GitHub never does so by itself; a person can
// redeliver for three days. Shopify tries eight times in four hours, and then deletes
// the subscription. Compare with the source of truth now and then (inbox.Missing).
//
// Events come in any order: see headrace.Tx.Newer.
//
// Set ReadHeaderTimeout on the http.Server: headers are read before this package is
// called.
package webhook
