// Package telemetry tells OpenTelemetry what happens: spans for receiving,
// processing and sending a message, counters of what became of it, and gauges of
// what waits.
//
// # Nouns
//
// A [Telemetry] holds a tracer and the instruments. A [Handler] is what one
// registration records with: its attribute sets are made once. A [Receipt] names
// the span in which a delivery was taken, a [Run] is the span of one run of a
// handler. A [Sender] records the sends of a relay. A [Watch] asks a database for
// gauges.
//
// # Rules
//
// Spans and the metrics that begin with messaging. follow the messaging semantic
// conventions of version 1.43.0; the others begin with headrace.
//
// The library speaks the API only. Where no SDK is installed, a transaction costs
// one span that is not recorded, and a message nothing but calls that return at
// once. There is no sampling decision here: nothing is set on a span that is not
// recording, and its context is passed on all the same.
//
// A trace goes on by the W3C trace context that is stored with a message. Each run
// of a handler is a child of the message's context, in whatever process and however
// late it happens; a message that came without one continues the span in which it
// was received. What a handler publishes carries its run's context, and what the
// relay publishes that of the send.
//
// Attributes never hold a payload, a key, an id, a position on the broker, or the
// words of an error; a failed span has an error class, the error's Go type and its
// print, and a status without a description. Labels of metrics are the names of
// consumers, handlers and registered topics, and values that are listed here.
//
// Gauges that need a query ask at most once in ten seconds however many readers
// there are, with a deadline, on a goroutine of their own. Where the database does
// not answer they have no value.
package telemetry
