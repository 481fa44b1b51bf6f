// Package publish passes rows of the outbox to a Watermill Publisher, and records which
// of them it confirmed.
//
// # Nouns
//
// A [Publisher] calls the sink, a Watermill Publisher. A [Run] publishes one batch. Each
// of its rows is an [Entry], whose [State] is the result. A row is confirmed when Publish
// returned nil for it, and refused when Publish of that row alone returned an error or
// did not return in time.
//
// # Rules
//
// The rows of an order are published one after the other. Rows of other orders, and rows
// without an order key, are published concurrently.
//
// One call of Publish gets several messages if they have the same topic and no order in
// common. If it fails, each of them is published again alone.
//
// A refusal counts only if the sink confirmed another row since the run began, or since
// it refused this row in the previous run: see [Run.Counts]. Otherwise it may be an
// outage.
//
// A Publish that does not return is abandoned after Options.Timeout, and counted. At
// MaxStuck such calls, no further call is made.
package publish
