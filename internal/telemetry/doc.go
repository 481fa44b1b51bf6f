// Package telemetry reports to OpenTelemetry: spans for receiving, processing and sending
// a message, counters of outcomes, and gauges of rows that wait.
//
// # Nouns
//
// A [Telemetry] has a tracer and the instruments. A [Handler] records for one
// registration. A [Receipt] is the span in which a delivery was received, a [Run] the
// span of one run of a handler. A [Sender] records the sends of a relay. A [Watch]
// queries a database for gauges. An [Upkeep] records what a process does besides messages.
//
// # Rules
//
// Spans and the metrics that begin with messaging. follow the messaging semantic
// conventions of version 1.43.0; the others begin with headrace.
//
// Only the OpenTelemetry API is used. Without an SDK, a transaction costs one span that
// is not recorded, and a message only calls that return at once. A span that is not
// recording gets no attributes, but its context is passed on.
//
// The W3C trace context is stored with a message. Each run of a handler is a child of it,
// in any process and at any time. A message without one continues the span in which it
// was received. Events of a handler carry its run's context, and published messages that
// of the send.
//
// Attributes never contain a payload, a key, an id, a position on the broker, or the text
// of an error; a failed span has an error class, the error's Go type and its fingerprint.
// Labels of metrics are the names of consumers, handlers and registered topics, and
// values listed here.
//
// Counters whose labels are known begin at 0 when the consumer starts: a series that begins
// at 1 has no increase.
//
// Gauges that need a query run it at most once in ten seconds, with a deadline. If the
// database does not answer they have no value.
package telemetry
