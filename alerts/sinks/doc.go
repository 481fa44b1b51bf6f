// Package sinks sends alerts to Slack, PagerDuty, Alertmanager, and any receiver of webhooks.
//
// # Nouns
//
// [Slack], [PagerDuty], [Alertmanager] and [WebhookV2] are sinks for alerts.Options.Sinks;
// [Webhook] is a hook for consumer.Config.Alert. A [Pulse] calls a dead man's switch each
// minute, as long as a process lives.
//
// # Rules
//
// All call their receiver in one way: https, addresses of the public internet unless
// [Options] allow others, checked when they are dialed, no redirect, no proxy of the
// environment, 5 s and 4 KiB of an answer at most. Retry-After is observed.
//
// URLs, keys, secrets and headers are in no error, log or row. What a receiver answers is not
// shown, but for its status.
//
// Texts of others, such as the name of a handler, are data: they are escaped, and cut to what
// the receiver takes.
//
// # Caveats
//
// A call that failed is made again, and the receiver may have taken the first one.
package sinks
