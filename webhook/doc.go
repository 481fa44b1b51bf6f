// Package webhook receives webhooks: a [Source] is a Watermill Subscriber whose broker is
// your HTTP server, and whose acknowledgement is the HTTP answer.
//
//	hooks := webhook.NewSource(webhook.Options{})
//	mux.Handle("POST /hooks/stripe", hooks.Endpoint("stripe", webhook.Stripe(secret)))
//	consumer.Handle(c, "stripe", f, consumer.From(hooks))
//
// # Nouns
//
// An endpoint is the [net/http.Handler] of one URL. Its verified requests are the messages
// of a topic; several endpoints may have one topic. A [Scheme] says how a sender signs:
// [Stripe], [GitHub], [Shopify] and [Standard] for Standard Webhooks and Svix. A [Verifier]
// of your own takes a few lines.
//
// # Rules
//
// The answer is 2xx only after the commit that made the message done, waiting or dead. With
// Handle this is the commit of the effects, with Intake and HandleLeased that of the row in
// the backlog. So delivery is at least once, as long as the sender repeats a request that it
// has no 2xx for, and effects are applied once inside one database. A duplicate and a
// conflict (the same id with another body) are answered with 200: the sender has nothing to
// repeat.
//
//	200  the message is durable, or was already
//	400  the body broke off
//	401  the signature does not fit, or its time is more than 5 minutes away; the reason is in the log only
//	405  the method is not POST
//	408  the body took longer than Options.BodyTimeout
//	413  the body is larger than Options.MaxBody
//	415  the body is compressed, and the signature covers other bytes
//	503  no subscription, because the consumer does not run or is paused; more than Options.MaxInFlight
//	     requests; or no commit within Options.AckTimeout
//
// After a 503 for AckTimeout the message may still be applied; the repetition is a duplicate
// then.
//
// The payload is the body, byte for byte, and is verified before anything parses it. The
// message's id is the sender's id of the event. A message without an id becomes an
// undecodable dead letter, unless the handler's key comes from elsewhere. Stored headers are
// content-type, those of the Scheme and those of Options.Headers, under the names that are
// written there. Others may be secrets.
//
// GitHub and Shopify sign the body alone. Anyone who has captured a request can send it again
// at any time, with another id, another event type and to another URL. Run refuses a
// handler of such an endpoint whose key is the message's id or made from a header, as the
// default is: make one from the body (consumer.Key), and decide by the body. Where a key
// has parts of both (inbox.Join), Run may not see that. Stripe and Standard Webhooks sign id and time. A
// repetition within the 5 minutes is a duplicate in the inbox.
//
// Endpoints are registered before Run. Mistakes in Options, in a topic, in a Scheme and in the
// order of calls are errors of Run; until they are corrected, the endpoints answer 503. An
// endpoint whose topic no handler takes answers 503, and is logged at the start.
//
// # Alerts and metrics
//
// If an endpoint has refused every request for 5 minutes, the consumer sends
// alerts.WebhookRefused, which is resolved when a request is accepted. The counter
// headrace.webhook.requests has the labels endpoint (the topic) and code (the HTTP status).
//
// # Caveats
//
// Do not rely on the sender to repeat a request: GitHub never does by itself, and Shopify
// gives up after 4 hours and deletes the subscription. Ask each sender's API regularly for
// what is missing; docs/webhooks.md says how.
//
// Events arrive in any order: compare versions with inbox.Newer, or read the object's
// current state from the sender.
//
// Stripe's body has a field pending_webhooks, which may differ between deliveries of one
// event. Register its handlers with consumer.SameWhen(inbox.Fields("id", "type")), so that
// this is no conflict.
//
// Requests that send their body slowly take a place of MaxInFlight for up to BodyTimeout,
// without a signature. On the open internet put a proxy in front that limits them. The
// limit needs a ResponseWriter that can set a deadline, as net/http's can; a middleware that
// wraps it has to have a method Unwrap. Without that a slow body is not cut off, and a
// warning says so.
//
// With consumer.Attach a topic with endpoints of GitHub, Shopify or your own body-signed
// Scheme is refused, since a Router's subscriber does not know the handler's key.
package webhook
