// Package stalled watches the lines of all consumers of a database for events that no
// process takes.
//
// # Rules
//
// A consumer is stalled if events of a topic have waited on its line for some minutes, and no
// process has had a handler for the topic for as long. A process that runs says every 30
// seconds which handlers it has: see outbox.Subscriptions.
//
// A consumer that does not run cannot say that it is stalled. So every process that runs any
// consumer watches all of them, and each sends the alert once: one of its consumers watches,
// and another one goes on when that ends.
package stalled
